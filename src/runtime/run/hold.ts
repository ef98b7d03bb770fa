import type { FaultOf } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import type { Json } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import type { MachineName } from '../../machines/all.ts'
import { runMachine } from '../../machines/run.ts'
import type {
  AgentView,
  BudgetSpent,
  CallView,
  RunView,
  SessionState,
  TurnView,
} from '../../observation/session-state.ts'
import type { Beginning, Recorded, Refused } from '../../runelog/port.ts'
import type { Evidence } from '../../runes/kinds.ts'
import { type Batch, createBatch, type Subject, subject } from '../batch.ts'
import type { AgentDefinition } from '../define-agent.ts'
import type { Engine } from '../engine.ts'
import type { Lease } from '../store.ts'
import { type Outcome as Carried, leftBehind } from '../tools/carry-out.ts'
import type { Tool } from '../tools/tool.ts'
import type { Answer } from '../turns/answer.ts'

/** A run that this worker holds, with the state that only this worker has. */
export interface Hold {
  readonly engine: Engine
  readonly state: SessionState
  readonly run: RunView
  readonly agent: AgentView
  readonly definition: AgentDefinition
  readonly lease: Lease
  readonly epoch: number
  /** Effects under way, by call. An effect that is not in here was begun by another worker, or not at all. */
  readonly inHand: Map<string, InHand>
  readonly unknown: Set<string>
  /** The answer of the model, until it is recorded. */
  answer: KeptAnswer | undefined
  changed: PromiseWithResolvers<void>
  /** Stops the stream or the wait that is under way. */
  interruption: AbortController
  /** Resolves when this worker has released the run. */
  readonly over: PromiseWithResolvers<void>
  /** The process stops: release the run at the next boundary. */
  isLeaving: boolean
}

/** The owner of a used-up budget, and the sentence that says so. */
export interface Exhausted {
  /** A used-up budget of a parent ends only this run; the holder of the parent decides about the parent. */
  readonly scope: 'agent' | 'run' | 'session'
  readonly message: string
  /** The owner: an agent, a run or the session. */
  readonly budget_of: string
  readonly budget_spent: BudgetSpent
}

/** An answer of the model that is not recorded yet. If the log refuses it, the model is not asked again. */
export interface KeptAnswer {
  readonly answered: Answer
  /** The budget over which the answer was cut. */
  readonly spent: Exhausted | undefined
  /** The claims that the log named when it refused a key. The rows may not have them: the log proves them, too. */
  readonly taken: Map<string, FaultOf<'key_taken'>['details']>
  /** Another agent used up a shared budget first: the log refused the calls of the answer. */
  overspent?: FaultOf<'budget_spent'>
}

/** How a step ended: the next one follows, this worker is done with the run, or the log refused its append. */
export type Went = 'on' | 'over' | Refused

/** An effect that this worker began. */
export interface InHand {
  readonly abort: AbortController
  readonly done: Promise<void>
  outcome: Outcome | undefined
}

/** The outcome of a tool, or what its probe found. */
export type Outcome = Carried | { readonly status: 'unknown'; readonly evidence?: Evidence }

/** The turn of the run, as it is folded. */
export function turnOf(hold: Hold): TurnView {
  const turn = hold.state.turns.get(hold.run.turn_id ?? '')
  if (turn === undefined) throw new Error(`${hold.run.run_id} is running without a turn.`)
  return turn
}

/** The calls of the turn. */
export function callsOf(hold: Hold): CallView[] {
  return turnOf(hold).call_ids.flatMap((call_id) => hold.state.calls.get(call_id) ?? [])
}

/** The turn of the run, as a subject to move. */
export function heldTurn(hold: Hold): Subject<'turn'> {
  return subject.turn(hold.run, turnOf(hold).turn_id)
}

/** Opens a turn of a run. Without an input, the model continues the dialogue as it is. */
export function openTurn({ ids }: Engine, batch: Batch, run: RunView, input: Json) {
  const turn_id = ids.next('turn')
  batch.on(subject.turn(run, turn_id), 'graph_runner').move('start_turn', { turn_id, agent_id: run.agent_id, input })
}

/** Begins the next append of the run. */
export function batchFor({ engine, state }: Hold): Batch {
  return createBatch(state, engine.clock.now())
}

/**
 * Records under the fence: a worker that lost its run cannot commit. An append that moves the run, the session or a
 * question expects that none of them has moved: a request, a suspension or an answer that is recorded first is obeyed
 * first. After a refusal the step ends, and `drive` decides again. An empty batch records nothing. The tools of the calls
 * in `begin` are called next.
 */
export async function commit(hold: Hold, batch: Batch, begin: readonly CallView[] = []): Promise<Recorded | Refused> {
  if (batch.runes.length === 0) return []
  const { engine, state, epoch } = hold
  const { run_id } = hold.run
  const isExpected = (id: string) => id === run_id || id === state.session_id || state.interactions.has(id)
  const expect = Object.fromEntries([...batch.moved].filter(([id]) => isExpected(id)))
  // Set before the append: a reaction to the record may arrive here before the result of the append.
  if (batch.stateOf(run_id) === 'waiting_user') engine.preserving.parked(run_id)
  const isLast = isTerminal(runMachine, batch.stateOf(run_id) ?? '') && isAllThereIs(hold)
  const rest = isLast ? { restsAfter: state.event_id } : {}
  const terms = { fence: { run_id, epoch }, expect, begins: beginningOf(hold, begin), ...rest }
  const runes = await commitBeginning(engine, () => engine.sessions.commit(state, batch, terms), terms.begins)
  for (const call_id of hold.inHand.keys())
    if (state.calls.get(call_id)?.contract !== 'running') hold.inHand.delete(call_id)
  return runes
}

/** Commits the start of tools. If it throws, the start may be recorded all the same: their ends are, too. */
export function commitBeginning<T>({ atWork }: Engine, work: () => Promise<T>, begins: readonly Beginning[]) {
  if (begins.length === 0) return work()
  return work().catch((error): never => {
    for (const { execution_id } of begins) atWork.end(execution_id, { how: 'threw', isLate: false })
    throw error
  })
}

/** Whether a tool is recorded while it is at work. One that may be repeated may also run twice at the same time. */
export const isCounted = ({ irreversible, idempotent }: Pick<Tool, 'irreversible' | 'idempotent'>) =>
  irreversible || !idempotent

/** The tools of calls that begin, as far as they are recorded while they are at work. */
export function beginningOf({ run, epoch, definition }: Hold, begin: readonly CallView[]): readonly Beginning[] {
  return begin.flatMap(({ name, execution_id }) => {
    const tool = definition.registry.find(name)
    const isTracked = execution_id !== null && tool !== undefined && isCounted(tool)
    return isTracked ? [{ execution_id, run_id: run.run_id, epoch }] : []
  })
}

/** More subjects than these are not looked through: the end of the run then wakes a worker for the session. */
const fewSubjects = 200

const ofRuns: ReadonlySet<string> = new Set<MachineName>([
  ...(['session', 'agent', 'run', 'turn', 'tool', 'contract', 'interaction'] as const),
])

/** The session has no other work than this run: no queue, no delegated task, no plan and no goal. */
function isAllThereIs({ state, run }: Hold): boolean {
  const { subjects, session_id, openRuns, openAgents } = state
  if (subjects.get(session_id)?.state !== 'active' || subjects.size > fewSubjects) return false
  const hasOther = openRuns.keys().some((run_id) => run_id !== run.run_id)
  const isDelegated = openAgents.values().some(({ parent_call_id }) => parent_call_id !== null)
  return !(hasOther || isDelegated) && subjects.values().every(({ machine }) => ofRuns.has(machine))
}

/** Records the batch. The step then ends as `went`, unless the log refuses. */
export async function commitThen<W>(hold: Hold, batch: Batch, went: W): Promise<W | Refused> {
  const recorded = await commit(hold, batch)
  return recorded instanceof Fault ? recorded : went
}

/** At least one effect has not ended. */
export function isUnderWay(hold: Hold): boolean {
  return hold.inHand.values().some(({ outcome }) => outcome === undefined)
}

/** The lease is gone: aborts the stream and every effect under way. Nothing may be begun. */
export function stopEverything(hold: Hold) {
  hold.interruption.abort()
  for (const { abort } of hold.inHand.values()) abort.abort(leftBehind)
  hold.changed.resolve()
}

/** The record says that another worker holds the run, or that it is over: this worker has lost it. */
export function isTaken({ run, epoch }: Hold): boolean {
  return run.epoch !== epoch || run.status !== 'running'
}

/** Wakes the holder: a request was recorded, the run was taken away, or a subject that it waits for has changed. */
export function nudge(hold: Hold) {
  if (isTaken(hold)) return stopEverything(hold)
  hold.changed.resolve()
  hold.changed = Promise.withResolvers<void>()
  if (hold.run.cancel !== null || hold.run.steers.length > 0 || hold.isLeaving) hold.interruption.abort()
}
