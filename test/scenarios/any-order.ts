import { z } from 'zod'
import { drained } from '../../src/adapters/system/testing.ts'
import { Fault } from '../../src/faults/fault.ts'
import type { Json } from '../../src/kernel/json.ts'
import { contractHistories, snapshot } from '../../src/observation/contract.ts'
import type { ModelRequest } from '../../src/runtime/model.ts'
import type { OpenInteraction } from '../../src/runtime/models/open-work.ts'
import type { RunHandle } from '../../src/runtime/run-handle.ts'
import { ask, call, type Scripted, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import type { ToolContext } from '../../src/runtime/tools/tool.ts'
import type { Stage } from './stage.ts'

/** The commands that are allowed at any time. `n` picks among the existing subjects. */
export const deeds = [
  'submit',
  'submit_auto',
  'succeed',
  'succeed',
  'fail',
  'act_silently',
  'reply',
  'reply',
  'refuse',
  'leave',
  'cancel',
  'interrupt',
  'steer',
  'wait_a_moment',
  'wait_long',
  'lose_worker',
  'pause',
  'go_on',
] as const
export type Deed = { readonly what: (typeof deeds)[number]; readonly n: number }

interface AtWork {
  readonly execution_id: string
  readonly key: string
  readonly succeed: (value: Json) => void
  readonly fail: (error: Error) => void
}

/** Tools whose effects a witness counts. They stop when they are told to, and act only when the test says so. */
export function createWitness() {
  const atWork = new Set<AtWork>()
  /** Which executions acted on the world. */
  const acted = new Map<string, string>()
  const act = (work: AtWork) => void acted.set(work.execution_id, work.key)

  function run(_args: unknown, { executionId, sessionId, idempotencyKey, signal }: ToolContext): Promise<Json> {
    return new Promise((succeed, fail) => {
      const work = { execution_id: executionId, key: `${sessionId} ${idempotencyKey}`, succeed, fail }
      atWork.add(work)
      signal.addEventListener('abort', () => {
        atWork.delete(work)
        fail(signal.reason)
      })
    })
  }
  const keys = new Map<string, string>()
  const input = z.object({ n: z.int() })
  const tools = [
    tool({ name: 'read', input, readOnly: true, run }),
    tool({ name: 'edit', input, run }),
    tool({ name: 'pay', input, irreversible: true, timeoutMs: 20_000, run }),
    tool({ name: 'wire', input, irreversible: true, approval: 'always', parallel: true, run }),
    tool({
      name: 'book',
      input,
      irreversible: true,
      // The outside knows keys and no sessions: one key must not be two actions in two sessions.
      keyScope: 'global',
      parallel: true,
      run(args, context) {
        keys.set(context.idempotencyKey, context.executionId)
        return run(args, context)
      },
      probe: async (key) => ({ outcome: acted.has(keys.get(key) ?? '') ? 'happened' : 'did_not' }),
    }),
  ]
  return {
    tools,
    acted,
    atWork,
    act,
    /** A lost worker acts no more. */
    forget: () => atWork.clear(),
  }
}
export type Witness = ReturnType<typeof createWitness>

/** Answers by what was said before and by `seed` alone, and comes to an end. */
export function anyModel(seed: number) {
  const dice = (n: number) => ((seed * 2_654_435_761 + n * 40_503) >>> 7) % 1_000
  const names = ['read', 'edit', 'pay', 'wire', 'book']
  const one = (n: number): Scripted =>
    dice(n) % 6 === 5
      ? ask({ title: 'Size?', fields: [{ name: 'size', default: 'L' }] })
      : call(names[dice(n) % names.length] ?? 'read', { n: dice(n + 1) % 2 })
  return scriptedModel((_request: ModelRequest, answered) => {
    if (answered % 3 === 2) return say(`Done ${answered}.`)
    const calls = Array.from({ length: 1 + (dice(answered) % 3) }, (_, i) => one(answered * 7 + i))
    return { ...together(...calls), text: 'Hm.' }
  })
}

/** Does one deed, if it can be done now. Every refusal is a fault. */
export async function perform(stage: Stage, witness: Witness, runs: RunHandle[], { what, n }: Deed): Promise<void> {
  const { world } = stage
  const pick = <T>(list: readonly T[]): T | undefined => list[n % Math.max(1, list.length)]
  const work = pick([...witness.atWork])
  const run = pick(runs)
  try {
    switch (what) {
      case 'submit':
      case 'submit_auto': {
        const session = n % 3 === 0 ? undefined : run?.sessionId
        const submitted = await stage.submit({
          mode: what === 'submit' ? 'interactive' : 'auto',
          interactiveRequireUserReply: n % 2 === 0,
          ...(session === undefined ? {} : { sessionId: session }),
        })
        runs.push(submitted)
        break
      }
      case 'succeed':
        if (work !== undefined) end(witness, work, true)
        break
      case 'fail':
        if (work !== undefined) end(witness, work, false)
        break
      case 'act_silently':
        if (work !== undefined) witness.act(work)
        break
      case 'reply':
      case 'refuse':
      case 'leave': {
        const question = pick(await stage.inbox())
        if (question !== undefined) await answer(stage, witness, question, what)
        break
      }
      case 'cancel':
      case 'interrupt':
        if (run !== undefined) await world.sw.runs[what](run.runId)
        break
      case 'steer':
        if (run !== undefined) await world.sw.runs.steer(run.runId, `Rather ${n}.`)
        break
      case 'wait_a_moment':
        await world.hand.advance(1_000)
        break
      case 'wait_long':
        await world.hand.advance(30_000)
        break
      case 'lose_worker':
        // Also what the process before began while its own end was on the way.
        witness.forget()
        await stage.kill(witness.forget)
        break
      case 'pause':
        if (run !== undefined) await world.sw.sessions.pause(run.sessionId)
        break
      case 'go_on':
        if (run !== undefined) await world.sw.sessions.resume(run.sessionId)
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
  }
  await drained()
}

function end(witness: Witness, work: AtWork, happens: boolean) {
  witness.atWork.delete(work)
  // A tool that has acted cannot report a failure any more.
  if (happens) witness.act(work)
  if (witness.acted.has(work.execution_id)) work.succeed('done')
  else work.fail(new Error('It did not work.'))
}

/** People tell the truth about what happened. */
async function answer(stage: Stage, witness: Witness, question: OpenInteraction, how: 'reply' | 'refuse' | 'leave') {
  const { interaction_id, interaction_kind, session_id, call_id } = question
  const reply = async (): Promise<Json> => {
    if (interaction_kind === 'approval') return { decision: how === 'refuse' ? 'deny' : 'approve' }
    if (interaction_kind === 'ecs') return { action: how === 'refuse' ? 'reject' : 'approve' }
    if (how === 'leave') return { outcome: 'leave' }
    const [opened] = (await stage.of(session_id, 'contract.opened')).filter((rune) => rune.call_id === call_id)
    return { outcome: witness.acted.has(opened?.execution_id ?? '') ? 'happened' : 'did_not' }
  }
  await stage.world.sw.inbox.reply(interaction_id, { reply: await reply() })
}

/** Lets everything come to its end: sessions go on, tools succeed, people answer, time passes. */
export async function drain(stage: Stage, witness: Witness, runs: RunHandle[]): Promise<void> {
  const isOver = async () => {
    for (const { runId } of runs)
      if (!['succeeded', 'failed', 'canceled'].includes(await stage.status(runId))) return false
    return (await stage.inbox()).length === 0
  }
  for (let left = 400; !(await isOver()); left--) {
    if (left === 0) throw new Error(await stuck(stage, runs))
    for (const [n] of runs.entries()) await perform(stage, witness, runs, { what: 'go_on', n })
    for (const work of witness.atWork) end(witness, work, true)
    for (const question of await stage.inbox())
      await answer(stage, witness, question, 'reply').catch((error) => {
        if (!(error instanceof Fault)) throw error
      })
    await stage.world.hand.advance(5_000)
    await drained()
  }
}

async function stuck({ status, runes, inbox }: Stage, runs: RunHandle[]): Promise<string> {
  const lines: string[] = []
  for (const { runId, sessionId } of runs) {
    const last = (await runes(sessionId)).filter((rune) => rune.run_id === runId).slice(-6)
    lines.push(`${runId} of ${sessionId} is ${await status(runId)}: ${last.map((r) => `${r.kind} ${r.trigger ?? ''}`)}`)
  }
  return `Not everything came to an end; ${(await inbox()).length} questions are open.\n${lines.join('\n')}`
}

/** The mistakes of a record: an irreversible action done twice, or done and recorded as not done. */
export async function untruths({ runes }: Stage, witness: Witness, runs: RunHandle[]): Promise<string[]> {
  const found: string[] = []
  const times = new Map<string, number>()
  for (const session_id of new Set(runs.map((run) => run.sessionId)))
    for (const history of contractHistories(await runes(session_id)).values()) {
      const { execution_id, current_status, irreversible, idempotency_key, action_type } = snapshot(history, 0)
      if (action_type === 'ecs_request') continue
      const has = witness.acted.has(execution_id)
      if (irreversible && has) {
        const key = `${session_id} ${idempotency_key}`
        times.set(key, (times.get(key) ?? 0) + 1)
      }
      if (irreversible && has !== (current_status === 'completed'))
        found.push(`${execution_id} is ${current_status}, and ${has ? 'it acted' : 'it did not act'}`)
      if (!irreversible && current_status === 'completed' && !has)
        found.push(`${execution_id} completed and did not act`)
    }
  for (const [key, n] of times) if (n > 1) found.push(`${key} was done ${n} times`)
  return found
}
