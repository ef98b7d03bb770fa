import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { drained } from '../../../src/adapters/system/testing.ts'
import { Fault } from '../../../src/faults/fault.ts'
import type { Json } from '../../../src/kernel/json.ts'
import { isTerminal } from '../../../src/kernel/machine.ts'
import { runMachine } from '../../../src/machines/run.ts'
import { foldSession, newSessionState } from '../../../src/observation/fold-session.ts'
import type { Budget } from '../../../src/observation/session-state.ts'
import type { Rune } from '../../../src/runes/rune.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import type { RunHandle } from '../../../src/runtime/run-handle.ts'
import {
  ask,
  breakOff,
  call,
  type Scripted,
  say,
  scriptedModel,
  together,
} from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import type { Tool } from '../../../src/runtime/tools/tool.ts'
import { on, type Stage } from '../../scenarios/stage.ts'
import { fastStores } from '../../scenarios/stores.ts'
import { perform as judge } from '../../support/scenario.ts'

const numRuns = process.env.STATEWRIGHT_PROOF ? 1_500 : 40

// biome-ignore format: the commands that are allowed at any time; a command that is listed twice is twice as likely
const deeds = [
  'submit', 'submit', 'submit_again', 'succeed', 'succeed', 'fail', 'reply', 'cancel', 'interrupt', 'steer',
  'spawn', 'kill', 'force', 'pause', 'go_on', 'replenish', 'reset', 'close', 'archive', 'wait', 'lose_worker',
] as const
type Deed = { readonly what: (typeof deeds)[number]; readonly n: number }

const names = ['lead', 'scribe', 'chief', 'broken'] as const

/** A company of agents that hand tasks to each other, work, ask, and break. */
function company(seed: number) {
  const dice = (n: number) => ((seed * 2_654_435_761 + n * 40_503) >>> 7) % 1_000
  const atWork = new Set<{ succeed(value: Json): void; fail(error: Error): void }>()
  const work = tool({
    name: 'work',
    input: z.object({ n: z.int() }),
    readOnly: true,
    parallel: true,
    run: (_, { signal }) =>
      new Promise<Json>((succeed, fail) => {
        const one = { succeed, fail }
        atWork.add(one)
        signal.addEventListener('abort', () => {
          atWork.delete(one)
          fail(signal.reason)
        })
      }),
  })
  /** A process that begins looks at every tool once. */
  const beginning = { processes: 1 }
  const touchy: Tool = {
    ...tool({ name: 'touchy', input: z.object({}), readOnly: true, run: () => 'fine' }),
    get approval(): Tool['approval'] {
      if (beginning.processes === 0) throw new Error('bang')
      return 'never'
    },
  }
  const acts = (salt: number, some: readonly ((n: number) => Scripted)[]) =>
    scriptedModel((_request, answered) => {
      if (answered % 3 === 2) return say(`Done ${answered}.`)
      const n = answered * 7 + salt
      if (dice(n) % 17 === 0) return breakOff('down')
      const calls = Array.from({ length: 1 + (dice(n) % 2) }, (_, i) => some[dice(n + i) % some.length]?.(n + i))
      return calls.length === 1 ? (calls[0] as Scripted) : together(...(calls as Scripted[]))
    })
  const doWork = (n: number) => call('work', { n: n + 1_000 * dice(n) })
  const form = () => ask({ title: 'Size?', fields: [{ name: 'size', default: 'L' }] })
  const hand = (name: string) => (n: number) => call(`delegate.${name}`, { task: `Task ${n}.` })
  const retries = { tries: 2, firstDelayMs: 100 }
  return {
    atWork,
    beginning,
    agents: {
      chief: agent({
        role: 'chief',
        model: acts(1, [hand('lead'), hand('scribe')]),
        delegates: ['lead', 'scribe'],
        retries,
      }),
      lead: agent({
        role: 'lead',
        model: acts(2, [hand('scribe'), hand('broken'), doWork]),
        delegates: ['scribe', 'broken'],
        tools: [work],
        retries,
        ...(seed % 3 === 0 && { budget: { toolCalls: 5 } }),
      }),
      scribe: agent({ role: 'scribe', model: acts(3, [doWork, doWork, form]), tools: [work], retries }),
      broken: agent({
        role: 'broken',
        model: acts(4, [doWork, () => call('touchy', {})]),
        tools: [work, touchy],
        retries,
      }),
    },
  }
}
type Company = ReturnType<typeof company>

interface Cast {
  readonly company: Company
  readonly runs: RunHandle[]
  readonly keyed: Map<string, string>
  /** Commands that wait until what runs was stopped. */
  readonly waiting: Promise<void>[]
}

async function perform(stage: Stage, { company, runs, keyed, waiting }: Cast, { what, n }: Deed): Promise<void> {
  const { sw } = stage.world
  const pick = <T>(list: readonly T[]): T | undefined => list[n % Math.max(1, list.length)]
  const sessions = [...new Set(runs.map((run) => run.sessionId))]
  const session_id = pick(sessions) ?? ''
  const run = pick(runs)
  const work = pick([...company.atWork])
  const agents = async () => {
    const state = newSessionState(session_id)
    for (const rune of await stage.runes(session_id)) foldSession(state, rune)
    return [...state.agents.keys()]
  }
  try {
    switch (what) {
      case 'submit':
      case 'submit_again': {
        const agent = names[n % names.length] ?? 'lead'
        const key = `key ${n % 4}`
        const submitted = await stage.submit({
          agent,
          mode: n % 5 === 0 ? 'auto' : 'interactive',
          ...(n % 4 === 0 || session_id === ''
            ? { sessionBudget: { toolCalls: 3 + (n % 7) } }
            : { sessionId: session_id }),
          ...(n % 7 === 0 && { budget: { toolCalls: 2 } }),
          ...(what === 'submit_again' && { idempotencyKey: key }),
        })
        if (what === 'submit_again') {
          // The same key is the same run, whatever happened in between.
          expect(keyed.get(key) ?? submitted.runId).toBe(submitted.runId)
          keyed.set(key, submitted.runId)
        }
        if (!runs.some(({ runId }) => runId === submitted.runId)) runs.push(submitted)
        break
      }
      case 'succeed':
        if (work !== undefined && company.atWork.delete(work)) work.succeed('done')
        break
      case 'fail':
        if (work !== undefined && company.atWork.delete(work)) work.fail(new Error('It did not work.'))
        break
      case 'reply': {
        const question = pick(await stage.inbox())
        if (question !== undefined) await sw.inbox.reply(question.interaction_id, { reply: { action: 'approve' } })
        break
      }
      case 'cancel':
      case 'interrupt':
        if (run !== undefined) await sw.runs[what](run.runId)
        break
      case 'steer':
        if (run !== undefined) await sw.runs.steer(run.runId, `Rather ${n}.`)
        break
      case 'spawn': {
        const parent_id = pick(await agents())
        await sw.agents.spawn(
          session_id,
          names[n % names.length] ?? 'lead',
          parent_id === undefined ? {} : { parentId: parent_id },
        )
        break
      }
      case 'kill':
      case 'force': {
        const agent_id = pick(await agents())
        // By force it waits until what runs was stopped, and that may take until time goes on.
        if (agent_id !== undefined && what === 'kill') await sw.agents.kill(agent_id)
        else if (agent_id !== undefined) waiting.push(sw.agents.kill(agent_id, { force: true }).catch(mayRefuse))
        break
      }
      case 'pause':
        await sw.sessions.pause(session_id)
        break
      case 'go_on':
        await sw.sessions.resume(session_id)
        break
      case 'reset':
        await sw.sessions.reset(session_id)
        break
      case 'replenish':
        await sw.sessions.replenish(session_id, { toolCalls: n })
        break
      case 'close':
        if (n % 3 === 0) waiting.push(sw.sessions.close(session_id).catch(mayRefuse))
        break
      case 'archive':
        await sw.sessions.archive(session_id)
        break
      case 'wait':
        await stage.world.hand.advance(n % 2 === 0 ? 200 : 30_000)
        break
      case 'lose_worker':
        company.atWork.clear()
        waiting.length = 0
        company.beginning.processes++
        await timePasses(
          stage,
          stage.kill(() => company.atWork.clear()),
        )
        company.beginning.processes--
    }
  } catch (error) {
    mayRefuse(error)
  }
  await drained()
}

/** A session that must be closed may have to stop runs first, and that takes time. */
async function timePasses(stage: Stage, until: Promise<unknown>): Promise<void> {
  let isOver = false
  const over = until.finally(() => {
    isOver = true
  })
  while (!isOver) await stage.world.hand.advance(10)
  await over
}

function mayRefuse(error: unknown) {
  if (!(error instanceof Fault) && !String(error).includes('the process was killed')) throw error
}

/** Sessions go on with enough to spend, tools succeed, people answer, time passes, until everything is over. */
async function drain(stage: Stage, cast: Cast): Promise<void> {
  const { runs, company } = cast
  const sessions = [...new Set(runs.map((run) => run.sessionId))]
  const isOver = async () => {
    for (const session_id of sessions) {
      const state = newSessionState(session_id)
      for (const rune of await stage.runes(session_id)) foldSession(state, rune)
      if (state.openRuns.size > 0 || state.subjects.get(session_id)?.state === 'closing') return false
    }
    return (await stage.inbox()).length === 0
  }
  for (let left = 300; !(await isOver()); left--) {
    if (left === 0) throw new Error(await stuck(stage, sessions))
    for (const session_id of sessions) {
      const { sw } = stage.world
      await sw.sessions.resume(session_id).catch(mayRefuse)
      await sw.sessions.replenish(session_id, { toolCalls: 10_000 }).catch(mayRefuse)
      await sw.sessions.reset(session_id).catch(mayRefuse)
    }
    for (const work of company.atWork) {
      company.atWork.delete(work)
      work.succeed('done')
    }
    for (const { interaction_id } of await stage.inbox())
      await stage.world.sw.inbox.reply(interaction_id, { reply: { action: 'approve' } }).catch(mayRefuse)
    await stage.world.hand.advance(5_000)
    await drained()
  }
  await timePasses(stage, Promise.all(cast.waiting))
  await stage.world.sw.idle()
}

async function stuck({ runes, inbox }: Stage, sessions: readonly string[]): Promise<string> {
  const lines: string[] = []
  for (const session_id of sessions) {
    const state = newSessionState(session_id)
    const log = await runes(session_id)
    for (const rune of log) foldSession(state, rune)
    lines.push(`${session_id} is ${state.subjects.get(session_id)?.state}`)
    for (const { run_id, status, agent_id, parent_call_id } of state.openRuns.values()) {
      const last = log.filter((rune) => rune.run_id === run_id).slice(-6)
      const at = state.subjects.get(agent_id)?.state
      const said = last.map((r) => `${r.kind} ${r.trigger ?? ''}`)
      lines.push(`  ${run_id} of ${agent_id} (${at}) for ${parent_call_id} is ${status}: ${said}`)
    }
  }
  return `Not everything came to an end; ${(await inbox()).length} questions are open.\n${lines.join('\n')}`
}

/** The illegal states of a log: more calls than a session may make, an agent that outlives its task or its turn. */
function untruths(log: readonly Rune[]): string[] {
  const found: string[] = []
  const state = newSessionState(log[0]?.session_id ?? '')
  for (const rune of log) {
    foldSession(state, rune)
    const limit = (state.config.budget as Budget | undefined)?.tool_calls
    if (rune.kind === 'tool.call' && limit !== undefined && state.used.tool_calls > limit)
      found.push(`call ${state.used.tool_calls} of ${limit} at ${rune.event_id}`)
  }
  for (const { agent_id, parent_call_id, budget, used } of state.agents.values()) {
    const at = state.subjects.get(agent_id)?.state
    if (at === 'running_turn') found.push(`${agent_id} is in a turn and nothing runs`)
    if (at === 'idle' && parent_call_id !== null) found.push(`${agent_id} is still there and its task is over`)
    if (budget?.tool_calls !== undefined && used.tool_calls > budget.tool_calls)
      found.push(`${agent_id} made ${used.tool_calls} of ${budget.tool_calls} calls`)
  }
  for (const { run_id, budget, used } of state.runs.values())
    if (budget?.tool_calls !== undefined && used.tool_calls > budget.tool_calls)
      found.push(`${run_id} made ${used.tool_calls} of ${budget.tool_calls} calls`)
  if (state.turns.size + state.calls.size + state.interactions.size > 0)
    found.push(`left over: ${[...state.turns.keys(), ...state.calls.keys(), ...state.interactions.keys()]}`)
  return found
}

const deed: fc.Arbitrary<Deed> = fc.record({ what: fc.constantFrom(...deeds), n: fc.nat(60) })

test.each(fastStores)(
  'agents: any commands in any order end every run, keep every limit and leave no subject open, on $name',
  async (store) => {
    const times = store.name === 'memory' ? numRuns : Math.ceil(numRuns / 10)
    await fc.assert(
      fc.asyncProperty(
        fc.nat(1_000),
        fc.array(fc.array(deed, { minLength: 1, maxLength: 3 }), { minLength: 5, maxLength: 30 }),
        async (seed, sequence) => {
          const play = on(
            store,
            () => ({ ...company(seed), warnings: [] as string[], settings: { cancelGraceMs: 50 } }),
            async (stage, props) => {
              props.beginning.processes = 0
              const cast: Cast = { company: props, runs: [], keyed: new Map(), waiting: [] }
              cast.runs.push(await stage.submit({ agent: 'chief', sessionBudget: { toolCalls: 6 } }))
              for (const next of sequence) await Promise.all(next.map((one) => perform(stage, cast, one)))
              await drain(stage, cast)
              const sessions = new Set(cast.runs.map((run) => run.sessionId))
              // An agent that was left by a process killed in that moment leaves when a task ends there next.
              for (const session_id of sessions)
                await stage
                  .submit({ agent: 'scribe', sessionId: session_id })
                  .then((run) => cast.runs.push(run), mayRefuse)
              await drain(stage, cast)
              const logs = await Promise.all([...sessions].map((session_id) => stage.runes(session_id)))
              expect(logs.flatMap(untruths)).toEqual([])
              for (const { runId } of cast.runs) expect(isTerminal(runMachine, await stage.status(runId))).toBe(true)
              for (const { message } of stage.world.warnings)
                if (message === 'an agent crashed') props.warnings.push(message)
            },
          )
          await judge(play)
        },
      ),
      { seed: 23, numRuns: times },
    )
  },
)
