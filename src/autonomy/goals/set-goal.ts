import type { z } from 'zod'
import { accepted, faults, isFault } from '../../faults/catalogue.ts'
import { hashedId } from '../../kernel/digest.ts'
import { canonicalJson, type Json } from '../../kernel/json.ts'
import type { SessionState } from '../../observation/session-state.ts'
import { subjects } from '../../runelog/models.ts'
import { type Batch, subject } from '../../runtime/batch.ts'
import { prepareAgent, refuseStopped, spawn } from '../../runtime/commands/submit.ts'
import type { Engine } from '../../runtime/engine.ts'
import { asRecord, type RecordOf } from '../../runtime/options.ts'
import { appendTo } from '../plans/receive.ts'
import { readDraft } from './draft.ts'
import { type GoalConfig, type GoalOptions, goalIds, goalOptions } from './goal-context.ts'

/** A goal to start, with its options. */
export interface GoalSubmission extends GoalOptions {
  /** The goal in words. */
  readonly goal: string
  /** An existing session. Default: a new one for this goal. */
  readonly sessionId?: string
  /** The same submission with the same key, sent again, is the same goal. */
  readonly idempotencyKey?: string
}

/** The ids of a goal that was set. */
export interface GoalSet {
  /** The goal. */
  readonly goalId: string
  /** Its session. */
  readonly sessionId: string
}

/** Records a goal. Planning begins when a process drives it. */
export async function setGoal(engine: Engine, submission: GoalSubmission): Promise<RecordOf<GoalSet>> {
  const { goal, sessionId: session_id, idempotencyKey: idempotency_key, ...rest } = submission
  const config = checked(goal, rest)
  const goal_id =
    idempotency_key === undefined ? engine.ids.next('goal') : hashedId('goal', [idempotency_key], engine.sha256)
  const setAgain = () => setBefore(engine, { goal_id, goal, config }, idempotency_key)
  const before = await setAgain()
  if (before !== undefined) return before
  refuseUnknownAgents(engine, goal, config)

  const name = config.planner ?? config.critic ?? ([...engine.agents.keys()][0] as string)
  const problem = await prepareAgent(engine, name)
  if (problem !== undefined) throw faults.agent_unfit({ agent: name, problem })
  const own =
    idempotency_key === undefined ? engine.ids.next('ses') : hashedId('ses', ['goal', idempotency_key], engine.sha256)
  const write = (batch: Batch, state: SessionState) => {
    const agent_id = goalIds(goal_id, engine.sha256).head()
    const { tokens, tool_calls, cost_usd } = config.budget
    const budget = JSON.parse(JSON.stringify({ tokens, tool_calls, cost_usd }))
    spawn(engine, batch, { name, parent_id: null, agent_id, budget })
    const root_agent_id = state.root_agent_id || agent_id
    if (batch.stateOf(state.session_id) === 'created')
      batch.on(subject.session(state.session_id), 'graph_runner').move('agent_ready', { root_agent_id })
    const payload = { goal_description: goal, config: plain(config) }
    batch.on({ ...subject.goal(goal_id), about: { goal_id, agent_id } }, 'human').open(payload)
  }
  const opened = await appendTo(engine, { session_id, own, actor: 'graph_runner', refuse: refuseStopped }, write)
  // The same request, sent twice at once, may have won the race.
  const isTaken = isFault(opened, 'subject_exists', 'stale_write', 'contended')
  const twin = isTaken ? await setAgain() : undefined
  if (twin !== undefined) return twin
  accepted(opened)
  return { goal_id, session_id: session_id ?? own }
}

type Asked = { readonly goal_id: string; readonly goal: string; readonly config: GoalConfig }

async function setBefore(engine: Engine, { goal_id, goal, config }: Asked, idempotency_key: string | undefined) {
  const row = idempotency_key === undefined ? undefined : await engine.runelog.row(subjects, goal_id)
  if (idempotency_key === undefined || row === undefined) return undefined
  const { session_id } = row.value
  const state = await engine.sessions.load(session_id)
  if (!state.goals.has(goal_id)) await engine.sessions.refresh(state)
  const known = state.goals.get(goal_id)
  // Secrets were removed before the goal was recorded.
  const asRecorded = engine.redactor.clean([goal, plain(config)]).value
  if (canonicalJson([known?.goal_description ?? null, known?.config ?? null]) !== canonicalJson(asRecorded))
    throw faults.key_reused({ idempotency_key, what: `the goal ${goal_id}` })
  return { goal_id, session_id }
}

function plain(config: GoalConfig): Record<string, Json> {
  return JSON.parse(JSON.stringify(config)) as Record<string, Json>
}

const refused = (goal: string, problem: string) =>
  faults.bad_definition({ what: 'goal', name: goal.slice(0, 60), problem })

function checked(goal: string, given: z.input<typeof goalOptions>): GoalConfig {
  if (goal.trim() === '') throw refused(goal, 'Its text is empty; describe what is to be reached.')
  const config: GoalConfig = asRecord(goalOptions.parse(given))
  const { planner, plan, mode, auto = mode === 'auto' } = config
  if (planner === null && plan === null)
    throw refused(goal, 'It has neither a plan nor a planner; give one of the two.')
  refuseMalformedPlan(plan)
  return { ...config, auto }
}

/** Throws `bad_definition` for a malformed plan before anything is recorded. */
export function refuseMalformedPlan(plan: Json | null | undefined): void {
  const read = plan == null ? undefined : readDraft(plan, 'caller')
  if (read === undefined || !('problem' in read)) return
  const problem = `${read.problem}.`.replace(/\.\.$/, '.')
  throw faults.bad_definition({ what: 'plan', name: 'of the goal', problem })
}

function refuseUnknownAgents({ agents }: Engine, goal: string, { planner, critic, per_agent }: GoalConfig) {
  const unknown = (place: string, name: string) =>
    refused(goal, `${place} ${name}, which is not configured. Configured agents: ${[...agents.keys()].join(', ')}.`)
  for (const [role, name] of Object.entries({ planner, critic }))
    if (name !== null && !agents.has(name)) throw unknown(`Its ${role} is`, name)
  for (const name of Object.keys(per_agent)) if (!agents.has(name)) throw unknown('Its limit per agent names', name)
}
