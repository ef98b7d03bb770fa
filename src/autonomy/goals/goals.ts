import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import { isTerminal, stateNames } from '../../kernel/machine.ts'
import { type GoalStop, goalMachine } from '../../machines/goal.ts'
import { answeredBy } from '../../observation/describe.ts'
import type { GoalView } from '../../observation/goal-state.ts'
import type { SessionState } from '../../observation/session-state.ts'
import { type Left, unsettledIn } from '../../observation/unsettled.ts'
import { subjectOf, subjects } from '../../runelog/models.ts'
import { createBatch } from '../../runtime/batch.ts'
import { reply } from '../../runtime/commands/reply.ts'
import { attempt } from '../../runtime/decide-and-append.ts'
import type { Assignment } from '../../runtime/dispatch/dispatch.ts'
import { asOptions, asRecord } from '../../runtime/options.ts'
import { onItsOwn } from '../../runtime/scopes.ts'
import { once } from '../../runtime/session-cache.ts'
import type { AbandonedRun } from '../../runtime/store.ts'
import type { ApprovalDecision } from '../../wire/interaction.ts'
import { createDriver, type Driver, decide, wakeRuns } from './driver.ts'
import { aboutGoal, goalContext, stopGoal } from './goal-context.ts'
import { endPlans, type Judging } from './judge-draft.ts'
import { type GoalReport, isAtWork, isQuestion, reportOf, type WaitReport, waitsOf } from './report.ts'
import { type GoalSet, type GoalSubmission, refuseMalformedPlan, setGoal } from './set-goal.ts'

/** A person's decision about a goal. */
export interface Decision {
  /** The gate of a review, or the task of a condition. Default: the plan; a rejection may mean the only open review. */
  readonly task?: string
  /** The reason. It is recorded, and the planner reads it. */
  readonly reason?: string
  /** The name of the person. Default: `human`. */
  readonly repliedBy?: string
  /** The same decision with the same key, sent again, is accepted again and does nothing more. */
  readonly idempotencyKey?: string
}

/** A rejection, perhaps with a plan to judge instead. */
export interface Rejection extends Decision {
  /** A plan to judge instead of the one that is rejected. */
  readonly plan?: Json
}

/**
 * Goals on one store: the loop of plan, execute, review, and what people may do to it. Every method refuses an argument
 * that does not fit with `bad_request`, and an id that does not exist with `not_found`.
 */
export interface Goals {
  /**
   * Records a goal and begins to work on it. Returns its ids. Refused with `bad_definition` if it has neither a plan
   * nor a planner, or names an agent that is not configured; with `session_over`, `session_suspended`, `agent_unfit`,
   * and with `key_reused` if the key belongs to another goal.
   */
  start(submission: GoalSubmission): Promise<GoalSet>
  /** Returns where a goal stands: its tasks, what it waits for, what it has used. */
  show(goalId: string): Promise<GoalReport>
  /** Returns all goals: those that are not over first, and of these the newest first. */
  list(): Promise<readonly GoalReport[]>
  /**
   * Lets a judged plan start; with `task` it approves that review, or confirms the condition of that task. Refused with
   * `goal_not_waiting` if the goal does not ask for it, and with `key_reused`.
   */
  approve(goalId: string, decision?: Decision): Promise<void>
  /**
   * Rejects a plan, or refuses a review. A blocked goal that asks for no review is given up. Refused with
   * `goal_not_waiting`, which names the open reviews, if several are open and `task` names none of them.
   */
  reject(goalId: string, rejection?: Rejection): Promise<void>
  /** Ends a goal and everything that is under way for it. Returns false if it was over before. */
  cancel(goalId: string, reason?: string): Promise<boolean>
  /**
   * Streams the report of a goal: now, and after each change, until it is over, this process closes or `signal` aborts.
   */
  watch(goalId: string, signal?: AbortSignal): AsyncIterable<GoalReport>
  /**
   * Resolves with the report of a goal when it is over. Refused with `session_suspended` if its session is suspended
   * and nothing of the goal is under way any more: bring the session back, then ask again. Refused with
   * `stopped_waiting` if this process closes before that, and with `store_poisoned` if the store fails.
   */
  result(goalId: string): Promise<GoalReport>
}

interface GoalLoop extends Goals {
  /** Takes up every goal that is under way. */
  begin(): Promise<void>
  /** Gives up the goals of a session that is being closed. */
  endAll(session_id: string, reason: string): Promise<void>
  /** Continues the goals of a session after an answer. False: this process does not drive them. */
  takeUp(session_id: string): Promise<boolean>
  /** A counter of appends and errands. A caller that waits until nothing moves compares two values. */
  steps(): number
  idle(): Promise<void>
  stop(): Promise<void>
}

type Looking = { readonly abandoned: () => Promise<readonly AbandonedRun[]> }

const states = stateNames(goalMachine)
const open = states.filter((state) => !isTerminal(goalMachine, state))

/** Without `drives`, other processes drive the goals. An assignment limits a process to its goals and new ones. */
export function createGoals(ports: Judging & Looking, drives: boolean, assignment?: Assignment): GoalLoop {
  const { engine } = ports
  const drivers = new Map<string, Driver>()
  let isStopped = !drives
  let steps = 0

  function drive(session_id: string, goal_id: string) {
    if (isStopped || isForOthers({ session_id, goal_id })) return
    const stepped = () => void steps++
    const ended = () => drivers.delete(goal_id)
    const driver = drivers.get(goal_id) ?? createDriver(ports, session_id, goal_id, { stepped, ended })
    drivers.set(goal_id, driver)
    driver.kick()
  }

  const isForOthers = (goal: { session_id: string; goal_id: string }) =>
    assignment !== undefined && !assignment.isAsked(goal) && !assignment.isAsked({ session_id: goal.session_id })

  async function tagged(states: readonly string[]) {
    const rows = await Promise.all(states.map((state) => engine.runelog.rows(subjects, { tag: `goal:${state}` })))
    return rows.flat().map(({ key, value }) => ({ goal_id: key, session_id: value.session_id }))
  }

  const sessionOf = async (goal_id: string) => (await subjectOf(engine.runelog, 'goal', goal_id)).session_id

  async function find(goal_id: string): Promise<{ state: SessionState; goal: GoalView }> {
    const state = await engine.sessions.load(await sessionOf(goal_id))
    return { state, goal: goalIn(state, goal_id) }
  }

  /** Whether no worker has a run of the goal and its driver would record and do nothing now. */
  function isAtRest(state: SessionState, goal: GoalView): boolean {
    const context = goalContext(engine, state, goal)
    decide(context)
    return !isAtWork(state, goal) && context.batch.runes.length === 0 && context.errands.length === 0
  }

  async function show(goal_id: string): Promise<GoalReport> {
    const { state, goal } = await find(goal_id)
    return reportOf(state, goal, engine.clock.now(), isAtWork(state, goal) ? await leftIn(state) : undefined)
  }

  async function leftIn(state: SessionState): Promise<Left> {
    const lost = (await ports.abandoned()).filter(({ session_id }) => session_id === state.session_id)
    const run_ids = new Set(lost.map(({ run_id }) => run_id))
    return { run_ids, unsettled: unsettledIn(state, run_ids) }
  }

  /** The question that a request with this idempotency key answered before. */
  function answeredWith(state: SessionState, goal: GoalView, key: string | undefined): string | undefined {
    if (key === undefined) return undefined
    const own = [...state.interactions.values()].filter((one) => one.goal_id === goal.goal_id)
    const asked = own.filter(({ coordination_id }) => coordination_id === null)
    return asked.find(({ answered }) => answered?.idempotency_key === key)?.interaction_id
  }

  /** The goal's own questions: its plan, its reviews, and conditions in words. */
  function reviewsOf(state: SessionState, goal: GoalView): readonly WaitReport[] {
    return waitsOf(state, goal).filter((wait) => wait.run_id === null && wait.interaction_kind === 'approval')
  }

  /** The named question, else the plan. Only a rejection may mean the one open review: an approval may be a repeat. */
  function questionOf(state: SessionState, goal: GoalView, { task, idempotencyKey }: Decision, asked: string): string {
    const repeated = answeredWith(state, goal, idempotencyKey)
    if (repeated !== undefined) return repeated
    const reviews = reviewsOf(state, goal)
    const named = (task_id: string | null) =>
      goal.tasks.find(({ planned }) => planned.task_id === task_id)?.planned.key ?? 'the plan'
    const isPlan = ({ interaction_id }: WaitReport) => interaction_id === goal.plan?.interaction_id
    const isMeant = (wait: WaitReport) =>
      task === undefined ? isPlan(wait) || asked === 'reject' : task === wait.task_id || task === named(wait.task_id)
    const fits = reviews.filter(isMeant)
    const chosen = fits.find(isPlan) ?? fits[0]
    if (chosen === undefined || (fits.length > 1 && !isPlan(chosen))) {
      const tasks = [...new Set((goal.plan?.tasks ?? []).map(({ key }) => key))]
      const ids = goal.tasks.map(({ planned }) => planned.task_id)
      const isUnknown = task !== undefined && ![...tasks, ...ids, 'the plan'].includes(task)
      const known = reviews.map(({ interaction_id }) => interaction_id)
      const others = waitsOf(state, goal).filter((wait) => isQuestion(wait) && !known.includes(wait.interaction_id))
      const answers = others.map(({ interaction_kind, interaction_id }) => answeredBy(interaction_kind, interaction_id))
      throw faults.goal_not_waiting({
        goal_id: goal.goal_id,
        state: goal.state,
        asked,
        open: reviews.map(({ task_id }) => named(task_id)),
        ...(isUnknown && { unknown_task: task, tasks }),
        ...(answers.length > 0 && { answers }),
      })
    }
    return chosen.interaction_id
  }

  async function answer(interaction_id: string, decision: ApprovalDecision, given: Decision) {
    const { reason, repliedBy, idempotencyKey } = given
    const decided = { decision, ...(reason === undefined ? {} : { reason }) }
    await reply(engine, interaction_id, { reply: decided, ...asRecord({ repliedBy, idempotencyKey }) })
  }

  async function stopBy(goal_id: string, cause: GoalStop, reason: string): Promise<boolean> {
    const session_id = await sessionOf(goal_id)
    const stopped = await attempt(engine, session_id, (state) => {
      const goal = state.goals.get(goal_id)
      if (goal === undefined || isTerminal(goalMachine, goal.state)) return { answer: () => undefined }
      const context = goalContext(engine, state, goal)
      stopGoal(context, cause, reason, 'human')
      return { batch: context.batch, read: goal.tasks.map(({ planned }) => planned.task_id), answer: (runes) => runes }
    })
    wakeRuns(engine, session_id, stopped ?? [])
    await endPlans(ports, stopped ?? [])
    return stopped !== undefined
  }

  /** Records the plan before the denial: after a crash between the two, the question is still open. */
  async function givePlan(goal_id: string, session_id: string, plan: Json, interaction_id: string) {
    await attempt(engine, session_id, (state) => {
      const goal = goalIn(state, goal_id)
      // The question refuses a late rejection, so the plan of that rejection is not recorded.
      if (state.interactions.get(interaction_id)?.state !== 'open') return { answer: () => undefined }
      const batch = createBatch(state, engine.clock.now())
      const payload = { plan_id: goal.plan?.plan_id ?? '', changes: { change: 'plan_given', plan } }
      batch.record('plan.updated', { actor: 'human', payload }, aboutGoal({ goal }))
      return { batch, read: [interaction_id], answer: () => undefined }
    })
  }

  async function* watch(goal_id: string, signal?: AbortSignal): AsyncIterable<GoalReport> {
    const { state } = await find(goal_id)
    const leave = AbortSignal.any([engine.closing, ...(signal === undefined ? [] : [signal])])
    const after = state.event_id
    let last = await show(goal_id)
    yield last
    if (last.ended_at !== null) return
    const looks = ({ used: _, ...report }: GoalReport) => JSON.stringify(report)
    for await (const rune of engine.runelog.follow(state.session_id, after, leave)) {
      if (rune.goal_id !== goal_id && rune.machine !== 'run' && rune.machine !== 'interaction') continue
      const now = await show(goal_id)
      if (looks(now) === looks(last)) continue
      last = now
      yield last
      if (last.ended_at !== null) return
    }
  }

  return {
    async start(submission) {
      // A process that cannot judge plans takes no goal.
      if (drives) await ports.conditions()
      const set = await setGoal(engine, submission)
      assignment?.add(set)
      drive(set.session_id, set.goal_id)
      return asOptions(set)
    },
    show,
    async list() {
      const reports = await Promise.all((await tagged(states)).map(({ goal_id }) => show(goal_id)))
      const rank = ({ ended_at }: GoalReport) => (ended_at === null ? 0 : 1)
      return reports.sort((a, b) => rank(a) - rank(b) || b.received_at - a.received_at)
    },
    async approve(goal_id, decision = {}) {
      const { state, goal } = await find(goal_id)
      await answer(questionOf(state, goal, decision, 'approve'), 'approve', decision)
    },
    async reject(goal_id, rejection = {}) {
      refuseMalformedPlan(rejection.plan)
      const { state, goal } = await find(goal_id)
      // A rejection that brings another plan does not give the goal up: it answers a question.
      const { task, plan, idempotencyKey } = rejection
      const namesNothing = task === undefined && plan === undefined
      const asksNothing = reviewsOf(state, goal).length === 0 && answeredWith(state, goal, idempotencyKey) === undefined
      const { reason = `What it waits for will not come: ${goal.reason}` } = rejection
      if (goal.state === 'blocked' && namesNothing && asksNothing)
        return void (await stopBy(goal_id, 'given_up', reason))
      const interaction_id = questionOf(state, goal, rejection, 'reject')
      // The idempotency key is recorded with the denial: after a crash between the two, the request can be sent again.
      if (plan !== undefined) await onItsOwn(() => givePlan(goal_id, state.session_id, plan, interaction_id))
      await answer(interaction_id, 'deny', rejection)
    },
    cancel: (goal_id, reason = 'cancelled by request') => stopBy(goal_id, 'cancelled', reason),
    watch,
    async result(goal_id) {
      const session_id = await sessionOf(goal_id)
      const look = (state: SessionState) => {
        const goal = goalIn(state, goal_id)
        if (isTerminal(goalMachine, goal.state)) return reportOf(state, goal, engine.clock.now())
        const { suspension } = state
        if (suspension !== null && isAtRest(state, goal))
          throw faults.session_suspended({ session_id, goal_id, ...suspension })
        return undefined
      }
      return once(engine.sessions, session_id, look, engine.closing)
    },
    async begin() {
      for (const { session_id, goal_id } of await tagged(open)) drive(session_id, goal_id)
    },
    async takeUp(session_id) {
      const { goals } = await engine.sessions.load(session_id)
      const ids = openIn(goals)
      for (const goal_id of ids) drive(session_id, goal_id)
      await Promise.all(ids.map((goal_id) => drivers.get(goal_id)?.idle()))
      return ids.length === 0 || !isStopped
    },
    steps: () => steps,
    async endAll(session_id, reason) {
      const { goals } = await engine.sessions.load(session_id)
      for (const goal_id of openIn(goals)) await stopBy(goal_id, 'session_closed', reason)
    },
    async idle() {
      await Promise.all([...drivers.values()].map((driver) => driver.idle()))
    },
    async stop() {
      isStopped = true
      await Promise.all([...drivers.values()].map((driver) => driver.stop()))
    },
  }
}

function openIn(goals: SessionState['goals']): string[] {
  return [...goals.values()].filter(({ state }) => !isTerminal(goalMachine, state)).map(({ goal_id }) => goal_id)
}

function goalIn({ goals }: SessionState, goal_id: string): GoalView {
  const goal = goals.get(goal_id)
  if (goal === undefined) throw faults.not_found({ what: 'goal', id: goal_id })
  return goal
}
