import { accepted, faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { hashedId } from '../../kernel/digest.ts'
import { asJson, canonicalJson, type Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { agentMachine } from '../../machines/agent.ts'
import { isOver } from '../../machines/session.ts'
import { newSessionState } from '../../observation/fold-session.ts'
import type { AllowedTool } from '../../observation/goal-state.ts'
import type { Budget, SessionState } from '../../observation/session-state.ts'
import { subjectOf, subjects } from '../../runelog/models.ts'
import type { Runelog } from '../../runelog/port.ts'
import type { RunMode } from '../../runes/kinds.ts'
import type { Actor, Visibility } from '../../runes/rune.ts'
import { type Batch, createBatch, type RunIds, subject } from '../batch.ts'
import { attempt } from '../decide-and-append.ts'
import { agentNamed, type Engine } from '../engine.ts'
import type { BudgetOptions, RecordOf } from '../options.ts'
import { readThrown, stacksOf } from '../thrown.ts'

/** A job for an agent. */
export interface Submission {
  /** The name of a configured agent. */
  readonly agent: string
  /** One agent of that name, by its id, where a session has several. */
  readonly agentId?: string
  /** A text or other JSON, which the agent gets as its next message. */
  readonly input: Json
  /** Whether the run may ask people (the default), or decides by policy and defaults. */
  readonly mode?: RunMode
  /** Wait for a reply without limit (the default), or let a deadline decide. */
  readonly interactiveRequireUserReply?: boolean
  /** The budget of the run. */
  readonly budget?: BudgetOptions
  /** An existing session; without it a new one is created. */
  readonly sessionId?: string
  /** The budget of a new session. */
  readonly sessionBudget?: BudgetOptions
  /** The same submission with the same key, sent again, returns the same run. */
  readonly idempotencyKey?: string
}

/** The run that a submission began, or found. */
export interface Submitted {
  /** The session of the run. */
  readonly sessionId: string
  /** The run. */
  readonly runId: string
  /** The same submission with the same idempotency key began this run before. */
  readonly isRepeated: boolean
}

/** Options of a new session. */
export interface NewSession extends Pick<Submission, 'agent' | 'sessionBudget' | 'idempotencyKey'> {
  /** Shown in lists. Default: the first line of the first message. */
  readonly title?: string
}

/** The session that was created, or found by its key. */
export type CreatedSession = Pick<Submitted, 'sessionId' | 'isRepeated'>

/** Queues a run. The first message of a session activates it. */
export async function submit(engine: Engine, given: RecordOf<Submission>): Promise<RecordOf<Submitted>> {
  const { agent, session_id } = given
  agentNamed(engine, agent)
  if (session_id !== undefined && given.session_budget !== undefined) throw faults.budget_given_late({ session_id })
  if (session_id === undefined && given.agent_id !== undefined)
    throw faults.not_found({ what: 'agent', id: given.agent_id })
  const submission = { ...given, input: await cleanInput(engine, 'A submission', given.input) }
  const run_id = nameOf(engine, 'run', submission.idempotency_key)
  const before = await repeatedRun(engine, run_id, submission)
  if (before !== undefined) return before
  if (session_id === undefined) {
    const created = await createSession(engine, submission, run_id)
    if (created.is_repeated) {
      const twin = await repeatedRun(engine, run_id, submission)
      const { idempotency_key = '' } = submission
      if (twin === undefined) throw faults.key_reused({ idempotency_key, what: created.session_id })
      return twin
    }
    engine.wake(created.session_id, run_id)
    return { ...created, run_id }
  }
  let prepared: Promise<string | undefined> | undefined
  let is_repeated = false
  const problem = await attempt(engine, session_id, async (state) => {
    is_repeated = state.runs.has(run_id)
    if (is_repeated) return { answer: () => undefined }
    refuseStopped(state)
    const known = agentFor(state, submission)
    // The agent is set up once, also if this is decided again after a race.
    if (known === undefined) prepared ??= prepareAgent(engine, agent)
    const unfit = known === undefined ? await prepared : undefined
    const batch = createBatch(state, engine.clock.now())
    const spawning = { name: agent, parent_id: null, problem: unfit, agent_id: nextId(engine, state, agent) }
    const agent_id = known ?? spawn(engine, batch, spawning)
    if (unfit === undefined) {
      if (state.subjects.get(session_id)?.state === 'created') activate(batch, state, agent_id)
      openRun(batch, { run_id, agent_id }, submission)
    }
    return { batch, read: [session_id, agent_id], answer: () => unfit }
  })
  if (problem !== undefined) throw faults.agent_unfit({ agent, problem })
  if (is_repeated) return submit(engine, submission)
  engine.wake(session_id, run_id)
  return { session_id, run_id, is_repeated }
}

/** A key determines the id, so that a repeated request finds it, also after a crash. */
function nameOf({ ids, sha256 }: Engine, prefix: 'run' | 'ses', key: string | undefined) {
  return key === undefined ? ids.next(prefix) : hashedId(prefix, [key], sha256)
}

async function repeatedRun(engine: Engine, run_id: string, given: RecordOf<Submission>) {
  const { idempotency_key } = given
  const subject = idempotency_key === undefined ? undefined : await engine.runelog.row(subjects, run_id)
  if (idempotency_key === undefined || subject === undefined) return undefined
  const { session_id } = subject.value
  const state = await engine.sessions.load(session_id)
  if (!state.runs.has(run_id)) await engine.sessions.refresh(state)
  const run = state.runs.get(run_id)
  const is_same =
    run !== undefined &&
    (given.session_id === undefined || given.session_id === session_id) &&
    (given.agent_id === undefined || given.agent_id === run.agent_id) &&
    textOf({ ...run, interactive_require_user_reply: run.strict }) === textOf(given)
  if (!is_same) throw faults.key_reused({ idempotency_key, what: run_id })
  return { session_id, run_id, is_repeated: true }
}

type Given = Omit<RecordOf<Submission>, 'budget'> & { readonly budget?: Budget | null }

const textOf = (given: Given) => canonicalJson(asJson(recordedOf(given)))

/** The recorded fields of a submission, with defaults. */
function recordedOf(given: Given) {
  const { agent, input, mode = 'interactive', interactive_require_user_reply = true, budget = null } = given
  return { agent, input, mode, interactive_require_user_reply, budget }
}

/** Refuses work for a session that has ended. */
export function refuseOver({ session_id, subjects }: SessionState) {
  const state = subjects.get(session_id)?.state ?? 'unknown'
  if (isOver(state)) throw faults.session_over({ session_id, state })
}

/** Refuses a run that would stay queued until a person acts. */
export function refuseStopped(state: SessionState) {
  refuseOver(state)
  const { session_id, suspension } = state
  if (suspension !== null) throw faults.session_suspended({ session_id, ...suspension })
}

/** A session begins with its root agent ready; with a message, it is active at once. */
export async function createSession(
  engine: Engine,
  { agent, session_budget, title, ...message }: RecordOf<NewSession> & Partial<RecordOf<Submission>>,
  run_id: string | null,
): Promise<RecordOf<CreatedSession>> {
  const session_id = nameOf(engine, 'ses', message.idempotency_key)
  const config = {
    ...(session_budget !== undefined && { budget: session_budget as Record<string, number> }),
    ...(title !== undefined && { title }),
  }
  const isBegun = () => isThere(engine, session_id, { agent, config }, message.idempotency_key)
  if (await isBegun()) return { session_id, is_repeated: true }
  const problem = await prepareAgent(engine, agent)
  if (problem !== undefined) throw faults.agent_unfit({ agent, problem })
  const state = newSessionState(session_id)
  const batch = createBatch(state, engine.clock.now())
  batch.on(subject.session(session_id), 'graph_runner').open({ conversation_id: session_id, config })
  const agent_id = spawn(engine, batch, { name: agent, parent_id: null })
  if (run_id !== null) {
    activate(batch, state, agent_id)
    openRun(batch, { run_id, agent_id }, { agent, input: null, ...message })
  }
  const opened = await engine.sessions.commit(state, batch, { expect: Object.fromEntries(batch.moved) })
  const is_repeated = opened instanceof Fault && (await isBegun())
  if (!is_repeated) accepted(opened)
  return { session_id, is_repeated }
}

/** Whether the session of this key exists. Refused with `key_reused` if it began with another agent or config. */
async function isThere(
  engine: Engine,
  session_id: string,
  begun: { readonly agent: string; readonly config: Readonly<Record<string, Json>> },
  idempotency_key: string | undefined,
): Promise<boolean> {
  if (idempotency_key === undefined || (await engine.runelog.head(session_id)) === undefined) return false
  const { agents, root_agent_id } = await engine.sessions.load(session_id)
  const [first] = await engine.runelog.read(session_id, { limit: 1 })
  const config = first?.kind === 'session.created' ? first.payload.config : {}
  const is_same =
    agents.get(root_agent_id)?.agent === begun.agent &&
    canonicalJson(config) === canonicalJson(engine.redactor.clean(begun.config as Json).value)
  if (!is_same) throw faults.key_reused({ idempotency_key, what: session_id })
  return true
}

/** A session that began with a plan has had no agent yet: its first one is the root. */
function activate(batch: Batch, state: SessionState, agent_id: string) {
  const payload = { root_agent_id: state.root_agent_id || agent_id }
  batch.on(subject.session(state.session_id), 'graph_runner').move('first_message', payload)
}

/** The named agent, or one of that name that is not over and does not work for a task or a goal. */
function agentFor(state: SessionState, { agent: name, agent_id: named }: RecordOf<Submission>): string | undefined {
  if (named !== undefined) {
    if (state.agents.get(named)?.agent !== name)
      throw faults.not_found({ what: `agent ${name} with the id`, id: named })
    refuseEnded(state, named)
    return named
  }
  const goals = new Set([...state.goals.values()].map((goal) => goal.agent_id))
  for (const { agent, agent_id, parent_id, parent_call_id } of state.openAgents.values()) {
    const isTaken = parent_call_id !== null || goals.has(agent_id) || goals.has(parent_id ?? '')
    if (agent === name && !isTaken && takesWork(state.subjects.get(agent_id)?.state)) return agent_id
  }
  return undefined
}

/** The agent is set up, and not over. */
const takesWork = (agent: string | undefined) =>
  agent !== undefined && agent !== agentMachine.initial && !isTerminal(agentMachine, agent)

/** Refuses work for an agent that has ended or is not set up. */
export function refuseEnded({ subjects }: SessionState, agent_id: string) {
  const state = subjects.get(agent_id)?.state
  if (!takesWork(state)) throw faults.agent_over({ agent_id, state: state ?? 'unknown' })
}

/** The id follows from the name, so two messages at once cannot both spawn the missing agent. */
function nextId(engine: Engine, state: SessionState, name: string): string {
  const earlier = [...state.agents.values()].filter(({ agent }) => agent === name).length
  return hashedId('agt', [state.session_id, name, `${earlier}`], engine.sha256)
}

interface Behalf {
  readonly actor?: Actor
  /** The call that delegated the task, and its run. */
  readonly parent?: { readonly call_id: string; readonly run_id: string } | null
  readonly allowed_tools?: readonly AllowedTool[] | null
  /** The visibility of the run. Without it, `public`. */
  readonly visibility?: Visibility
  readonly goal_id?: string
  readonly task_id?: string
}

/** Opens a run in a batch. */
export function openRun(
  batch: Batch,
  { run_id, agent_id }: RunIds,
  submission: RecordOf<Submission>,
  { actor = 'human', parent = null, allowed_tools = null, visibility = 'public', ...concerns }: Behalf = {},
) {
  const bound = allowed_tools === null ? {} : { allowed_tools: [...allowed_tools] }
  const above =
    parent === null ? { parent_call_id: null } : { parent_call_id: parent.call_id, parent_run_id: parent.run_id }
  const payload = { ...recordedOf(submission), ...above, ...bound }
  const run = { ...subject.run({ run_id, agent_id }), about: { run_id, agent_id, ...concerns } }
  batch.on(run, actor).open(payload, visibility)
}

/** The same rule for submit, steer and create: a blank text is no input, and a turn without input would do nothing. */
function refuseMissing(what: string, input: Json | undefined): void {
  if (input === undefined || input === null || (typeof input === 'string' && input.trim() === ''))
    throw faults.input_missing({ what })
}

/** The input without secrets. A value that JSON cannot express is refused by name. */
export async function cleanInput({ redactor }: Engine, what: string, input: Json): Promise<Json> {
  refuseMissing(what, input)
  try {
    return (await redactor.cleanLong(input)).value
  } catch (error) {
    if (error instanceof Fault) throw error
    throw faults.input_unfit({ what, problem: readThrown(error).message })
  }
}

interface Spawning {
  readonly name: string
  readonly parent_id: string | null
  readonly budget?: Budget | undefined
  readonly agent_id?: string
  readonly problem?: string | undefined
}

/** Runs `prepare` of an agent. Returns the problem if it throws. */
export async function prepareAgent(engine: Engine, name: string): Promise<string | undefined> {
  const definition = agentNamed(engine, name)
  try {
    await definition.prepare?.()
    return undefined
  } catch (error) {
    engine.log.info('an agent could not be set up', { agent: name, error: stacksOf(error, engine.redactor.redact) })
    return readThrown(error, engine.redactor.redact).message
  }
}

/** Writes that an agent joins the session: ready for work, or over before it began. */
export function spawn(engine: Engine, batch: Batch, spawning: Spawning): string {
  const { name, parent_id, budget, problem, agent_id = engine.ids.next('agt') } = spawning
  const { role, model, registry, budget: usual } = agentNamed(engine, name)
  const handle = batch.on(subject.agent(agent_id), 'graph_runner')
  const made = { agent_id, agent: name, role, model: model.id, parent_id, tools: [...registry.names] }
  handle.open({ ...made, budget: budget ?? usual ?? null })
  if (problem === undefined) handle.move('init_complete', { agent_id })
  else handle.move('init_error', { agent_id, error: problem })
  return agent_id
}

/** Refused with `not_found` if the session never had this agent. An empty answer would look like an idle agent. */
export async function refuseUnknownAgent(
  runelog: Pick<Runelog, 'row'>,
  session_id: string,
  agent_id: string | undefined,
): Promise<void> {
  if (agent_id === undefined) return
  const agent = await subjectOf(runelog, 'agent', agent_id)
  if (agent.session_id !== session_id) throw faults.not_found({ what: 'agent', id: agent_id })
}
