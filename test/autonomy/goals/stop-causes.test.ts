import { afterEach, expect, test } from 'vitest'
import { goalStopNames } from '../../../src/machines/goal.ts'
import { upcast } from '../../../src/runes/rune.ts'
import { type Agent, agent } from '../../../src/runtime/define-agent.ts'
import { say } from '../../../src/runtime/scripted-model.ts'
import { critic, note, planner, planOf, playsTasks, worker } from '../../scenarios/goal-cast.ts'
import { form } from '../../scenarios/props.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { createWorld, type World } from '../../support/world.ts'

const registry = registryIn(scratchFolder('stop-causes').fresh())
const one = planOf(note('ta'))
const wrong = { findings: [{ severity: 'error', title: 'No', task: null }] }
const asks = worker({ ta: [form, say('ta is done')] })

let world: World
afterEach(() => world.end())

interface Play {
  readonly cause: string
  readonly trigger: string
  readonly from: string
  readonly goal: object
  readonly agents?: Readonly<Record<string, Agent>>
  readonly act?: (goal_id: string, session_id: string) => Promise<unknown>
}

const reject = (goal_id: string) => world.sw.goals.reject(goal_id)
const planned = { planner: 'planner' }
const drafting = { planner: planner(one) }
const reviewed = { plan: one, auto: true, critic: 'critic' }
// biome-ignore format: one row for each
const plays: readonly Play[] = [
  { cause: 'budget', trigger: 'budget_exhausted', from: 'executing', goal: { plan: one, auto: true, budget: { tokens: 0 } } },
  { cause: 'drafts', trigger: 'budget_exhausted', from: 'planning', goal: { ...planned, maxDrafts: 1 }, agents: { planner: planner({}) } },
  { cause: 'iterations', trigger: 'budget_exhausted', from: 'reviewing', goal: { ...reviewed, budget: { iterations: 1 } }, agents: { critic: critic(wrong) } },
  { cause: 'cancelled', trigger: 'user_cancel', from: 'planning', goal: { plan: one }, act: (goal_id) => world.sw.goals.cancel(goal_id) },
  { cause: 'session_closed', trigger: 'user_cancel', from: 'planning', goal: { plan: one }, act: (_, session_id) => world.sw.sessions.close(session_id) },
  { cause: 'plan_rejected', trigger: 'unresolvable', from: 'goal_received', goal: { plan: one }, act: reject },
  { cause: 'no_plan', trigger: 'unresolvable', from: 'planning', goal: { plan: planOf({ ...note('ta'), command: 'cmd_unknown' }) } },
  { cause: 'no_plan', trigger: 'unresolvable', from: 'reviewing', goal: reviewed, agents: { critic: critic(wrong) } },
  { cause: 'agent_missing', trigger: 'unresolvable', from: 'planning', goal: planned, agents: drafting, act: withoutPlanner },
  { cause: 'agent_terminated', trigger: 'unresolvable', from: 'planning', goal: planned, agents: drafting, act: withoutHead },
  { cause: 'critic_failed', trigger: 'unresolvable', from: 'reviewing', goal: reviewed, agents: { critic: agent({ role: 'critic', model: playsTasks({ '': [say('fine')] }) }) } },
  { cause: 'blocked_too_long', trigger: 'unresolvable', from: 'blocked', goal: { plan: one, auto: true, maxBlockedMs: 60_000 }, agents: { worker: asks }, act: () => world.hand.advance(60_000) },
  { cause: 'given_up', trigger: 'unresolvable', from: 'blocked', goal: { plan: one, auto: true }, agents: { worker: asks }, act: reject },
]

async function withoutPlanner(goal_id: string) {
  await world.restart({ agents: { worker: worker() } })
  await reject(goal_id)
}

async function withoutHead(goal_id: string, session_id: string) {
  const [head] = (await world.runes(session_id)).filter((rune) => rune.kind === 'agent.spawning')
  await world.sw.agents.kill(head?.agent_id ?? '')
  await reject(goal_id)
}

test.each(plays)('F-47 stops: $cause is recorded with $trigger, from $from', async (play) => {
  const { cause, trigger, from, goal, agents = {}, act } = play
  const store = cause === 'agent_missing' ? 'sqlite' : 'memory'
  world = await createWorld({ store, agents: { worker: worker(), ...agents }, plans: { registry } })
  const { goalId, sessionId } = await world.sw.goals.start({ goal: 'Stop', ...goal })
  await world.sw.idle()
  await act?.(goalId, sessionId)
  await world.sw.idle()
  const report = await world.sw.goals.show(goalId)
  expect(report).toMatchObject({ state: 'stopped', cause })
  const stopped = (await world.runes(sessionId)).filter((rune) => rune.kind === 'plan.stopped')
  expect(stopped).toMatchObject([{ from, trigger, payload: { cause, reason: report.reason } }])
})

test('F-47 stops: every cause is played', () => {
  expect(goalStopNames.filter((name) => !plays.some(({ cause }) => cause === name))).toEqual([])
})

test('F-47 stops: a stop that was recorded without a cause is read as one of unknown cause', () => {
  expect(upcast('plan.stopped', 1, { reason: 'It was so.' })).toEqual({ reason: 'It was so.', cause: null })
})
