import { expect } from 'vitest'
import { z } from 'zod'
import { drained } from '../../src/adapters/system/testing.ts'
import type { Json, Problem } from '../../src/kernel/json.ts'
import type { RunStatus } from '../../src/machines/run.ts'
import { fcmpStream } from '../../src/observation/fcmp.ts'
import { checkFcmp } from '../../src/observation/fcmp-check.ts'
import { foldSession, newSessionState } from '../../src/observation/fold-session.ts'
import { sessions } from '../../src/runelog/models.ts'
import type { Runelog } from '../../src/runelog/port.ts'
import type { Kind } from '../../src/runes/kinds.ts'
import type { Rune } from '../../src/runes/rune.ts'
import { type Agent, agent } from '../../src/runtime/define-agent.ts'
import { type Scripted, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import type { Tool } from '../../src/runtime/tools/tool.ts'
import { type Connection, connect } from '../support/dying-runelog.ts'
import type { Play } from '../support/scenario.ts'
import { storeWith } from '../support/store-with.ts'
import { verifierOf } from '../support/verifier.ts'
import { createWorld, type WorldOptions } from '../support/world.ts'
import type { Store } from './stores.ts'

export interface Props extends Omit<WorldOptions, 'store'> {
  /** Warnings that the play provokes. Any other is a failure. */
  readonly warnings?: readonly string[]
}

export type Theatre = Awaited<ReturnType<typeof open>>

/**
 * A play on one store, in which processes may die and others go on. When it is
 * over, every log that it wrote is recorded for the audit, its chain verified,
 * and the FCMP stream of each of its runs checked against what became of it.
 */
export function on(store: Store, props: Props, act: (theatre: Theatre) => Promise<void>): Play {
  return async ({ record }) => {
    const opened = await store.open()
    const theatre = await open(opened, { ...props, settings: { ...store.settings, ...props.settings } })
    await act(theatre)
    await theatre.sw.close()

    const expected = new Set(props.warnings ?? [])
    expect(theatre.warnings.filter(({ message }) => !expected.has(message))).toEqual([])
    for (const { key } of await opened.runelog.rows(sessions)) {
      const runes = await opened.runelog.read(key)
      record(runes)
      expect(runes.map((rune) => rune.event_id)).toEqual(runes.map((_, i) => i + 1))
      expect(await chainProblem(opened.runelog, key)).toBeUndefined()
      expect(streamProblems(runes)).toEqual([])
    }
    await opened.dispose()
  }
}

async function chainProblem(runelog: Runelog, session_id: string) {
  const verifier = verifierOf(session_id)
  for await (const record of runelog.records(session_id)) {
    const bad = verifier.take(record)
    if (bad !== undefined) return bad
  }
  return verifier.end()
}

/** The problems of the FCMP streams of the runs in these runes. */
export function streamProblems(runes: readonly Rune[]): readonly Problem[] {
  const state = newSessionState(runes[0]?.session_id ?? '')
  for (const rune of runes) foldSession(state, rune)
  return [...state.runs.values()].flatMap(({ run_id, status }) =>
    checkFcmp(fcmpStream(runes, run_id), { runId: run_id, status: status as RunStatus }),
  )
}

async function open(opened: Awaited<ReturnType<Store['open']>>, { warnings: _, ...props }: Props) {
  let connection: Connection = connect(opened.runelog)
  const { policy = { mode: 'full_access' }, ...rest } = props
  const world = await createWorld({
    store: storeWith(opened, { runelog: connection.runelog }),
    policy,
    through: opened.through,
    ...rest,
  })

  /** The options with which a new process opens the store. */
  const reconnect = () => {
    connection = connect(opened.runelog)
    return { ...opened, runelog: connection.runelog }
  }
  const runes = (session_id: string) => opened.runelog.read(session_id)

  return {
    get sw() {
      return world.sw
    },
    hand: world.hand,
    warnings: world.warnings,
    until: world.until,
    runes,
    rows: opened.runelog.rows,

    /** The process that is alive now. */
    process: () => connection,
    /** It ends in good order, and another one begins. */
    restart: (changes: Partial<Omit<Props, 'warnings'>> = {}) => world.restart({ store: reconnect(), ...changes }),
    /** It is killed where it stands, and another one begins. `doomed` says when that one dies in turn. */
    async kill(changes: Partial<Omit<Props, 'warnings'>> = {}, doomed?: (next: Connection) => void) {
      await connection.die()
      const store = reconnect()
      doomed?.(connection)
      const { isDead } = connection
      // A queue may bring it work before it has wholly begun: then it dies on the way.
      await world.revive({ store, ...changes }).catch((error) => {
        if (doomed === undefined || !isDead()) throw error
      })
    },

    /** Lets time pass until nothing moves by itself any more: waits between tries, deadlines, timeouts. */
    async passTime() {
      let isIdle = false
      const idle = world.sw.idle().then(() => {
        isIdle = true
      })
      while (!isIdle) await (world.hand.pending() > 0 ? world.hand.advance(1_000) : drained())
      await idle
    },

    /** Submits to the agent `main` and waits until nothing moves by itself any more. */
    async run(more: Partial<Parameters<typeof world.sw.runs.start>[0]> = {}) {
      const run = await world.sw.runs.start({ agent: 'main', input: 'Go.', ...more })
      await world.sw.idle()
      return run
    },
    async reply(interaction_id: string, reply: Json) {
      await world.sw.inbox.reply(interaction_id, { reply })
      await world.sw.idle()
    },
    /** The one thing that waits for someone. */
    async question() {
      const waiting = await world.sw.inbox.list()
      expect(waiting).toHaveLength(1)
      return waiting[0] as (typeof waiting)[number]
    },
    async of<K extends Kind>(session_id: string, ...kinds: readonly K[]): Promise<Rune<K>[]> {
      const wanted: readonly string[] = kinds
      return (await runes(session_id)).filter((rune) => wanted.includes(rune.kind)) as unknown as Rune<K>[]
    },
    /** The moves of a run as `from → to (trigger)`, without the requests that change nothing. */
    async moves(session_id: string, run_id: string): Promise<readonly string[]> {
      return (await runes(session_id)).flatMap((r) =>
        r.kind === 'run.moved' && r.run_id === run_id ? [`${r.from} → ${r.to} (${r.trigger})`] : [],
      )
    },
    async fcmp(session_id: string, run_id: string) {
      return fcmpStream(await runes(session_id), run_id)
    },
    status: async (run_id: string) => (await world.sw.runs.show(run_id)).status,
  }
}

/** An agent that plays this script. */
export const plays = (script: readonly Scripted[], more: Partial<Parameters<typeof agent>[0]> = {}): Agent =>
  agent({ role: 'player', model: scriptedModel(script), ...more })

/** A tool that anyone may run as often as they like, and that says so. */
export const lookUp = tool({
  name: 'shop.look_up',
  input: z.looseObject({}),
  readOnly: true,
  run: (args) => ({ found: args as Json }),
})

/** A tool whose end the test decides. */
export function heldTool(name: string, more: Partial<Parameters<typeof tool>[0]> = {}) {
  const begun: PromiseWithResolvers<Json>[] = []
  let bell = Promise.withResolvers<void>()
  const held: Tool = tool({
    name,
    input: z.looseObject({}),
    ...more,
    run: () => {
      const end = Promise.withResolvers<Json>()
      begun.push(end)
      bell.resolve()
      bell = Promise.withResolvers<void>()
      return end.promise
    },
  })
  return {
    tool: held,
    begun,
    /** Resolves when it has begun for the n-th time. */
    async hasBegun(n = 1) {
      while (begun.length < n) await bell.promise
    },
  }
}

/** A model that is in the middle of its answer until the test lets it go on. */
export function heldModel(script: readonly Scripted[]) {
  const began = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const model = scriptedModel(script, {
    pieces: 2,
    beforeDelta: async (index, signal) => {
      if (index === 0) return
      began.resolve()
      const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      await Promise.race([goOn.promise, stopped])
    },
  })
  return { model, began: began.promise, goOn: goOn.resolve }
}

export const ofEach = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n))
