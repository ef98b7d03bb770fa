import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Store as OpenStore } from '../../src/app/open-store.ts'
import type { StatewrightOptions } from '../../src/app/statewright.ts'
import type { Json } from '../../src/kernel/json.ts'
import { consequenceView, contractHistories, snapshot } from '../../src/observation/contract.ts'
import { sessions } from '../../src/runelog/models.ts'
import type { Runelog } from '../../src/runelog/port.ts'
import type { Kind } from '../../src/runes/kinds.ts'
import type { Rune } from '../../src/runes/rune.ts'
import type { Submission } from '../../src/runtime/commands/submit.ts'
import { type Agent, agent } from '../../src/runtime/define-agent.ts'
import type { Model } from '../../src/runtime/model.ts'
import { openInteractions } from '../../src/runtime/models/open-work.ts'
import { summaries } from '../../src/runtime/models/summaries.ts'
import { type Scripted, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { type ToolDefinition, tool } from '../../src/runtime/tools/define-tool.ts'
import type { Tool } from '../../src/runtime/tools/tool.ts'
import { dump, verify } from '../conformance/runelog/store.ts'
import { connect } from '../support/dying-runelog.ts'
import { type Play, perform } from '../support/scenario.ts'
import { createWorld, type Through, type World } from '../support/world.ts'
import type { Store } from './stores.ts'
import { streamProblems } from './theatre.ts'

/** The setup of a play. Without a policy every tool runs that does not ask for approval itself. */
export interface Props extends Partial<Pick<StatewrightOptions, 'policy' | 'settings'>> {
  readonly tools?: readonly Tool[]
  readonly script?: readonly Scripted[]
  /** Instead of a script. */
  readonly model?: Model
  /** Instead of the one agent `support`. */
  readonly agents?: Readonly<Record<string, Agent>>
  /** Stands between the runtime and its store, to stop or fail an append. */
  readonly behind?: (runelog: Runelog) => Runelog
  /** Warnings that the play provokes. Any other is a failure. */
  readonly warnings?: readonly string[]
}

export type Stage = Awaited<ReturnType<typeof setUp>>

/**
 * A play on one store. When it is over every log that it wrote is recorded for
 * the audit, its chain is verified, the FCMP streams of its runs are checked,
 * the read models are folded again and compared, and nothing may have been
 * warned of that the play does not name.
 */
export function on<P extends Props>(
  store: Store,
  make: () => P,
  play: (stage: Stage, props: P) => Promise<void>,
): Play {
  return async ({ record }) => {
    const opened = await store.open()
    const props = make()
    const { runelog } = opened.store
    const settings = { ...store.settings, ...props.settings }
    const stage = await setUp(opened.store, { ...props, settings }, opened.through)
    await play(stage, props).catch((error) => {
      const { warnings } = stage.world
      throw warnings.length === 0
        ? error
        : new Error(`${error.message}\nwarned of: ${JSON.stringify(warnings, null, 2)}`)
    })
    await stage.world.sw.close()

    const expected = [...(props.warnings ?? [])].sort()
    const warnings = stage.world.warnings.filter((warning) => !isOfTheDead(warning))
    expect(warnings.map(({ message }) => message).sort(), JSON.stringify(warnings, null, 2)).toEqual(expected)
    const rows = await dump(runelog, [openInteractions, summaries])
    for (const { key } of await runelog.rows(sessions)) {
      const runes = await runelog.read(key)
      record(runes)
      expect(streamProblems(runes)).toEqual([])
      expect(await verify(runelog, key)).toBeUndefined()
    }
    await runelog.rebuild()
    expect(await dump(runelog, [openInteractions, summaries])).toBe(rows)
    await opened.dispose()
  }
}

/** Remains of a killed process warn that they have no store any more. */
function isOfTheDead({ details }: { details: object }): boolean {
  return JSON.stringify(details).includes('the process was killed')
}

/** A play that belongs to no requirement alone. */
export function play(title: string, acts: Play): void {
  test(title, () => perform(acts))
}

async function setUp(
  store: OpenStore,
  { tools = [], script = [], model, agents, behind, ...options }: Props,
  through?: Through,
) {
  const usual = agent({ role: 'support', model: model ?? scriptedModel(script), tools: [...tools] })
  const { policy = { mode: 'full_access' }, settings = {} } = options
  const runelog = behind === undefined ? store.runelog : behind(store.runelog)
  let connection = connect(runelog)
  let killing = Promise.resolve()
  const connected = () => ({ ...store, runelog: connection.runelog })
  const world = await createWorld({
    store: connected(),
    agents: agents ?? { support: usual },
    policy,
    settings,
    through,
  })
  return {
    world,
    ...stageOn(world),
    /** The process is killed where it stands: nothing of it reaches the store any more. Another one begins. */
    kill(dead = () => {}) {
      // One at a time: two processes at once would both think that the store is theirs alone.
      killing = killing.then(async () => {
        await connection.die()
        dead()
        connection = connect(runelog)
        await world.revive({ store: connected() })
      })
      return killing
    },
  }
}

function stageOn(world: World) {
  const runes = (session_id: string) => world.runes(session_id)

  return {
    submit: (submission: Partial<Submission> = {}) =>
      world.sw.runs.start({ agent: 'support', input: 'Go.', ...submission }),

    /** Submits and waits until nothing moves by itself any more. */
    async run(submission: Partial<Submission> = {}) {
      const run = await world.sw.runs.start({ agent: 'support', input: 'Go.', ...submission })
      await world.sw.idle()
      return run
    },

    /** The open interactions, oldest first. */
    inbox: () => world.sw.inbox.list(),

    /** The one thing that waits for someone. */
    async question() {
      const open = await world.sw.inbox.list()
      expect(open).toHaveLength(1)
      return open[0] as (typeof open)[number]
    },

    async reply(interaction_id: string, reply: Json) {
      const replied = await world.sw.inbox.reply(interaction_id, { reply })
      await world.sw.idle()
      return replied
    },

    runes,
    async of<K extends Kind>(session_id: string, ...kinds: readonly K[]): Promise<Rune<K>[]> {
      const all = await runes(session_id)
      return all.filter((rune) => (kinds as readonly string[]).includes(rune.kind)) as unknown as Rune<K>[]
    },

    /** The contracts of a session as anyone outside sees them, in the order in which they were opened. */
    async snapshots(session_id: string) {
      const histories = contractHistories(await runes(session_id))
      return [...histories.values()].map((history) => snapshot(history, world.hand.clock.now()))
    },

    /** The same contracts as reasoning sees them. */
    async consequences(session_id: string) {
      return [...contractHistories(await runes(session_id)).values()].map(consequenceView)
    },

    status: async (run_id: string) => (await world.sw.runs.show(run_id)).status,
  }
}

/** A tool that counts how often it was run. */
export function counting<I extends z.ZodType>(definition: ToolDefinition<I>): Tool<I> & { readonly ran: Json[] } {
  const ran: Json[] = []
  const { run } = definition
  return {
    ...tool({
      ...definition,
      run(args, context) {
        ran.push(args as Json)
        return run.call(definition, args, context)
      },
    }),
    ran,
  }
}

const order = z.object({ order: z.string(), cents: z.int() })

/** The usual tool that cannot be undone. */
export function refundTool(changes: Partial<ToolDefinition<typeof order>> = {}) {
  return counting({
    name: 'payments.refund',
    input: order,
    irreversible: true,
    run: ({ order }) => ({ refund: `r-${order}` }),
    ...changes,
  })
}

/** A tool whose end the test decides, and that does not heed its signal. */
export function heldTool(definition: Partial<ToolDefinition<z.ZodObject>> & { name: string }) {
  const begun: PromiseWithResolvers<Json>[] = []
  const nthOf = (bells: PromiseWithResolvers<void>[]) => (n: number) => {
    bells[n] ??= Promise.withResolvers<void>()
    return bells[n]
  }
  const [began, told] = [nthOf([]), nthOf([])]
  const held = counting({
    input: z.looseObject({}),
    ...definition,
    run: (_args, { signal }) => {
      const ends = Promise.withResolvers<Json>()
      const n = begun.push(ends)
      signal.addEventListener('abort', () => told(n).resolve())
      began(n).resolve()
      return ends.promise
    },
  })
  return {
    ...held,
    begun,
    /** Resolves when it has begun for the n-th time. */
    hasBegun: (n = 1) => began(n).promise,
    /** Resolves when it was told to stop, the n-th time. */
    wasTold: (n = 1) => told(n).promise,
  }
}
