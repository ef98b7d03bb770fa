import type { Statewright } from '../../src/app/statewright.ts'
import { Fault } from '../../src/faults/fault.ts'
import type { Json } from '../../src/kernel/json.ts'
import type { OpenInteraction } from '../../src/runtime/models/open-work.ts'
import { ask, call, type Scripted, say, together } from '../../src/runtime/scripted-model.ts'
import type { Dice } from '../support/dice.ts'
import { truthAbout } from './driver.ts'
import type { Note, Outside } from './outside.ts'
import type { Role } from './plays.ts'
import { declarations } from './tools.ts'

const names = Object.keys(declarations)

/** A few runs in a few sessions, with models that call anything. */
export function drawRoles(dice: Dice): readonly Role[] {
  const tags = ['a', 'b', 'c', 'd', 'e'].slice(0, 1 + dice.below(5))
  return tags.map((tag, i) => ({
    tag,
    ...(i > 0 && dice.once(2) ? { with: dice.pick(tags.slice(0, i)) } : {}),
    ...(dice.once(4) ? { mode: 'auto' as const } : {}),
    ...(dice.once(4) ? { silent: true as const } : {}),
    ends: ['succeeded', 'failed', 'canceled'],
    script: drawScript(dice, `${tag} `, 3),
    tasks: { [`${tag} task`]: drawScript(dice, `${tag} task`, 0) },
  }))
}

function drawScript(dice: Dice, task: string, tasks: number): Scripted[] {
  const answers = Array.from({ length: dice.below(4) }, () => {
    const calls = Array.from({ length: 1 + dice.below(3) }, () => drawCall(dice, task, tasks))
    return together(dice.once(3) ? say('Well. '.repeat(500)) : say(''), ...calls)
  })
  return [...answers, say('Done.')]
}

function drawCall(dice: Dice, task: string, tasks: number): Scripted {
  if (tasks > 0 && dice.once(8)) return call('delegate.helper', { task: `${task}task` })
  if (dice.once(8)) return ask({ title: 'Which?', fields: [{ name: 'which', required: true }] })
  if (dice.once(10)) return ask({ title: 'Which?', fields: [{ name: 'which', default: 'any' }] })
  return call(dice.pick(names), { what: `order ${dice.below(3)}` })
}

export interface Chaos {
  readonly sw: Statewright
  readonly outside: Outside
  readonly dice: Dice
  readonly roles: readonly Role[]
  /** That something rare was reached. */
  readonly reached: (mark: string) => void
}

/** The allowed answers to a client at a bad moment. Any other answer is our mistake. */
const refusals = [
  'interaction_closed',
  'transition_refused',
  'suspended_otherwise',
  'session_over',
  'session_suspended',
  // A session is closed while the process goes down; the next process finishes it.
  'session_busy',
  'reply_unfit',
  'log_sealed',
  'too_early',
  'agent_busy',
  'agent_over',
  'not_repeatable',
  'agent_unfit',
]

/** One thing that somebody does at any moment, whatever the state of affairs. */
export async function disturb(chaos: Chaos): Promise<void> {
  const { dice, reached } = chaos
  try {
    await dice.pick([submit, submit, submit, answer, answer, answer, answer, stop, steer, pause, close, kill, again])(
      chaos,
    )
  } catch (error) {
    if (!(error instanceof Fault) || !refusals.includes(error.code)) throw error
    reached(`refused: ${error.code}`)
  }
}

const submitted = async (outside: Outside) =>
  (await outside.notes()).flatMap((n) => (n.told === 'submitted' ? [n] : []))

async function drawRun({ outside, dice }: Chaos): Promise<Extract<Note, { told: 'submitted' }> | undefined> {
  return dice.pick(await submitted(outside))
}

async function submit({ sw, outside, roles, dice, reached }: Chaos) {
  const known = await submitted(outside)
  const role = roles.find(({ tag }) => known.every((n) => n.tag !== tag))
  const joined = known.find((n) => n.tag === role?.with)
  if (role === undefined) return
  // Asked for and not acknowledged, it is not asked for again: a twin would be a client's mistake.
  if (attempted.get(outside)?.has(role.tag)) return
  attempted.set(outside, (attempted.get(outside) ?? new Set()).add(role.tag))
  const { sessionId, runId } = await sw.runs.start({
    agent: 'clerk',
    input: role.tag,
    ...(role.mode === undefined ? {} : { mode: role.mode }),
    interactiveRequireUserReply: role.silent !== true,
    ...(joined === undefined ? {} : { sessionId: joined.session_id }),
    ...(dice.once(8) ? { budget: { toolCalls: dice.below(5) } } : {}),
    ...(joined === undefined && dice.once(8) ? { sessionBudget: { toolCalls: 1 + dice.below(4) } } : {}),
  })
  await outside.note({ told: 'submitted', tag: role.tag, session_id: sessionId, run_id: runId })
  reached('submitted')
}

const attempted = new WeakMap<Outside, Set<string>>()

async function answer({ sw, outside, dice, reached }: Chaos) {
  const open = dice.pick(await sw.inbox.list()) as OpenInteraction | undefined
  if (open === undefined) return
  const { interaction_id } = open
  const send = async (reply: Json) => {
    await sw.inbox.reply(interaction_id, { reply })
    await outside.note({ told: 'replied', interaction_id, reply })
    reached(`answered: ${open.interaction_kind}`)
  }
  const first = send(await drawReply(sw, outside, dice, open))
  if (!dice.once(4)) return first
  // Two people answer at once: one of them is told that the other was faster.
  const both = await Promise.allSettled([first, send(await drawReply(sw, outside, dice, open))])
  const refused = both.filter((each) => each.status === 'rejected')
  if (refused.length === 2) throw refused[0]?.reason
  for (const { reason } of refused) if (!(reason instanceof Fault)) throw reason
  reached('answered twice')
}

async function drawReply(sw: Statewright, outside: Outside, dice: Dice, open: OpenInteraction): Promise<Json> {
  switch (open.interaction_kind) {
    case 'approval':
      if (dice.once(3)) return { decision: 'deny' }
      return { decision: 'approve', digest: (await sw.inbox.get(open.interaction_id)).digest }
    case 'ecs':
      return dice.once(3) ? { action: 'reject' } : { action: 'approve', data: { which: 'this one' } }
    default:
      return dice.once(3) ? { outcome: 'leave' } : truthAbout(sw, outside, open)
  }
}

async function stop(chaos: Chaos) {
  const run = await drawRun(chaos)
  if (run === undefined || !chaos.dice.once(2)) return
  const { run_id } = run
  const { accepted } = await chaos.dice.pick([chaos.sw.runs.cancel, chaos.sw.runs.interrupt])(run_id)
  await chaos.outside.note({ told: 'cancelled', run_id, accepted })
  if (accepted) chaos.reached('stopped')
}

async function steer(chaos: Chaos) {
  const run = await drawRun(chaos)
  if (run === undefined) return
  await chaos.sw.runs.steer(run.run_id, 'Something else, please.')
  chaos.reached('steered')
}

async function pause(chaos: Chaos) {
  const run = await drawRun(chaos)
  if (run === undefined) return
  await chaos.dice.pick([chaos.sw.sessions.pause, chaos.sw.sessions.resume])(run.session_id)
  chaos.reached('paused or resumed')
}

async function kill(chaos: Chaos) {
  const run = await drawRun(chaos)
  if (run === undefined || !chaos.dice.once(3)) return
  const runes = await chaos.sw.runelog.read(run.session_id)
  const agents = runes.flatMap((r) => (r.kind === 'agent.ready' ? [r.payload.agent_id] : []))
  await chaos.sw.agents.kill(chaos.dice.pick(agents), { force: chaos.dice.once(2) }).catch((error) => {
    // It may be on record and not be known to the process yet.
    if (!(error instanceof Fault) || error.code !== 'not_found') throw error
  })
  chaos.reached('killed')
}

async function again(chaos: Chaos) {
  const run = await drawRun(chaos)
  if (run === undefined) return
  const runes = await chaos.sw.runelog.read(run.session_id)
  const done = runes.flatMap((r) => (r.kind === 'contract.moved' && r.to === 'completed' ? [r.execution_id ?? ''] : []))
  if (done.length === 0) return
  await chaos.sw.executions.allowAgain(chaos.dice.pick(done))
  chaos.reached('allowed again')
}

async function close(chaos: Chaos) {
  const run = await drawRun(chaos)
  if (run === undefined || !chaos.dice.once(4)) return
  await chaos.sw.sessions.close(run.session_id)
  await chaos.outside.note({ told: 'closed', session_id: run.session_id })
  chaos.reached('closed')
}
