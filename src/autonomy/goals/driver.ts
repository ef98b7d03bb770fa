import type { RegistrySnapshot } from '../../coordinator/schemas/registry.ts'
import { isFault } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { goalMachine } from '../../machines/goal.ts'
import { taskMachine } from '../../machines/task.ts'
import { saySpent } from '../../observation/fold-run.ts'
import { worksFor } from '../../observation/goal-state.ts'
import type { SessionState } from '../../observation/session-state.ts'
import type { Rune } from '../../runes/rune.ts'
import { prepareAgent } from '../../runtime/commands/submit.ts'
import { attempt } from '../../runtime/decide-and-append.ts'
import type { Engine } from '../../runtime/engine.ts'
import type { Cancel } from '../../runtime/ports.ts'
import { decideExecuting } from './executing.ts'
import {
  configOf,
  dismiss,
  type Errand,
  type Evaluated,
  type GoalContext,
  goalContext,
  type Judgement,
  stopGoal,
} from './goal-context.ts'
import { endPlans, type Judging, judgeDraft } from './judge-draft.ts'
import { decidePlanning, decideReceived, decideReviewing } from './planning-and-review.ts'

/** Advances one goal. */
export interface Driver {
  /** Decides about the goal soon. Several kicks before that cause one decision. */
  kick(): void
  /** Resolves when nothing is being decided or done outside for the goal. */
  idle(): Promise<void>
  stop(): Promise<void>
}

interface Progress {
  /** Called after an append or the start of an errand. */
  stepped(): void
  /** Called when the goal is over and all agents that worked for it are terminated. */
  ended(): void
}

/** The delay before the next decision after the store failed. */
const again_ms = 5_000

/** Advances one goal when its session changes. The record is its only state: of two drivers' appends one is refused. */
export function createDriver(ports: Judging, session_id: string, goal_id: string, progress: Progress): Driver {
  const { engine } = ports
  const judged = new Map<number, Judgement>()
  const prepared = new Map<string, string | undefined>()
  const evaluated = new Map<string, Evaluated>()
  const under_way = new Map<string, Promise<void>>()
  let registry: RegistrySnapshot | undefined
  let working: Promise<void> | undefined
  let isDirty = false
  let isStopped = false
  let alarm: Cancel | undefined
  const unsubscribe = engine.sessions.listen(session_id, kick)

  function kick() {
    isDirty = true
    if (isStopped || working !== undefined) return
    working = work()
      .catch(onError)
      .finally(() => {
        working = undefined
        if (isDirty && !isStopped) kick()
      })
  }

  function onError(error: unknown) {
    isDirty = false
    // The process closed the store. The next process continues the goal.
    if (isFault(error, 'store_closed')) return leave()
    // A poisoned store concerns the whole process, which reports it.
    if (isFault(error, 'store_poisoned')) leave()
    else if (error instanceof Fault && error.kind === 'store') {
      // A store that can be reached again changes no session, so a timer looks again.
      alarm?.()
      alarm = engine.timers.after(again_ms, kick)
    }
    engine.warn('a goal could not go on', { goal_id, error: String((error as Error)?.stack ?? error) })
  }

  function leave() {
    isStopped = true
    alarm?.()
    unsubscribe()
  }

  async function work() {
    while (isDirty && !isStopped) {
      isDirty = false
      const errands: Errand[] = []
      const runes = await attempt(engine, session_id, (state) => {
        errands.length = 0
        const batch = look(state, errands)
        return batch === undefined || batch.runes.length === 0
          ? { answer: () => [] as readonly Rune[] }
          : { batch, read: rivals(state), answer: (written: readonly Rune[]) => written }
      })
      wakeRuns(engine, session_id, runes)
      await endPlans(ports, runes)
      for (const errand of errands) run(errand)
      if (runes.length + errands.length > 0) progress.stepped()
      if (runes.length > 0) isDirty = true
      else await rest()
    }
  }

  function look(state: SessionState, errands: Errand[]) {
    const goal = state.goals.get(goal_id)
    if (goal === undefined) return undefined
    const context = goalContext(engine, state, goal, { judged, prepared, evaluated, registry, errands })
    decide(context)
    return context.batch
  }

  /** The subjects whose versions the append expects where other processes may drive the same goal. */
  function rivals(state: SessionState): readonly string[] {
    if (engine.isAlone) return []
    const tasks = state.goals.get(goal_id)?.tasks ?? []
    const left = tasks.filter((task) => !isTerminal(taskMachine, task.state))
    return [goal_id, ...left.map(({ planned }) => planned.task_id)]
  }

  /** After the last append: sets a timer for the next deadline, or leaves a goal that is over. */
  async function rest() {
    const state = await engine.sessions.load(session_id)
    const goal = state.goals.get(goal_id)
    if (goal === undefined) return
    if (isTerminal(goalMachine, goal.state)) {
      if (workersOf({ state, goal }).some(({ agent_id }) => state.openAgents.has(agent_id))) return
      leave()
      return progress.ended()
    }
    // Wakes runs that found no place (max parallel): a place may be free now.
    if (engine.turnedAway.size > 0)
      for (const { run_ids } of goal.tasks) {
        const run_id = run_ids.at(-1) ?? ''
        if (engine.turnedAway.delete(run_id)) engine.wake(session_id, run_id)
      }
    alarm?.()
    alarm = undefined
    const { budget, max_blocked_ms } = configOf(goal)
    const { wall_time_ms = Number.POSITIVE_INFINITY } = budget
    const blocked_ms = (goal.state === 'blocked' ? max_blocked_ms : null) ?? Number.POSITIVE_INFINITY
    const due = Math.min(goal.received_at + wall_time_ms, goal.since + blocked_ms)
    if (due === Number.POSITIVE_INFINITY) return
    const ms = Math.max(1, due - engine.clock.now())
    // No timer can wait longer, so a later deadline takes several.
    alarm = engine.timers.after(Math.min(ms, 2 ** 31 - 1), kick)
  }

  function run(errand: Errand) {
    const key = JSON.stringify(errand)
    if (under_way.has(key)) return
    // A failed errand is not retried at once: the next change of the session asks for it again.
    const done = carryOut(errand)
      .then(kick, onError)
      .finally(() => under_way.delete(key))
    under_way.set(key, done)
  }

  async function carryOut(errand: Errand) {
    switch (errand.errand) {
      case 'registry':
        registry = await refusing(errand.draft, ports.registry())
        return
      case 'prepare':
        prepared.set(errand.key, await prepareAgent(engine, errand.agent))
        return
      case 'evaluate': {
        const conditions = await ports.conditions()
        const answer = conditions.evaluate(errand.rule, errand.context)
        evaluated.set(errand.task_id, { decider: conditions.version, answer })
        return
      }
      case 'judge': {
        const goal = (await engine.sessions.load(session_id)).goals.get(goal_id)
        if (goal === undefined || isTerminal(goalMachine, goal.state)) return
        const judgement = await refusing(errand.draft, judgeDraft(ports, session_id, goal, errand))
        if (judgement !== undefined) judged.set(errand.draft, judgement)
      }
    }
  }

  /** A refusal fails the draft, and the next draft gets the reason. A store or package that is away fails no draft. */
  async function refusing<T>(draft: number, work: Promise<T>): Promise<T | undefined> {
    try {
      return await work
    } catch (error) {
      if (!(error instanceof Fault) || error.kind === 'store' || isFault(error, 'package_missing')) throw error
      judged.set(draft, { outcome: 'failed', failure: error.message })
      return undefined
    }
  }

  return {
    kick,
    async idle() {
      while (working !== undefined || under_way.size > 0) await Promise.all([working, ...under_way.values()])
    },
    async stop() {
      leave()
      await working
    },
  }
}

const wakes: ReadonlySet<string> = new Set(['run.submitted', 'run.requested', 'run.moved'])

/** Wakes the runs that these runes opened or moved. */
export function wakeRuns({ wake }: Pick<Engine, 'wake'>, session_id: string, runes: readonly Rune[]) {
  for (const { kind, run_id } of runes) if (run_id !== undefined && wakes.has(kind)) wake(session_id, run_id)
}

/** Decides the next step from the record alone and writes it into the batch. An empty batch: nothing is to be done. */
export function decide(context: GoalContext) {
  const { goal } = context
  if (isTerminal(goalMachine, goal.state)) return tidy(context)
  const spent = spentOf(context)
  if (spent !== undefined) return stopGoal(context, 'budget', spent, 'policy')
  switch (goal.state) {
    case 'goal_received':
      return decideReceived(context)
    case 'planning':
      return decidePlanning(context)
    case 'executing':
    case 'blocked':
      return decideExecuting(context)
    case 'reviewing':
      return decideReviewing(context)
  }
}

/** Says which budget of the goal is used up: its time, or the limit that ended one of its runs. */
function spentOf({ state, goal, config, now }: GoalContext): string | undefined {
  const { wall_time_ms } = config.budget
  if (wall_time_ms !== undefined && now - goal.received_at >= wall_time_ms)
    return saySpent('The goal', { limit: 'wall_time_ms', used: now - goal.received_at, allowed: wall_time_ms })
  for (const run of state.runs.values())
    if (run.budget_of === goal.agent_id && run.budget_spent !== null) return saySpent('The goal', run.budget_spent)
  return undefined
}

/** Terminates the agents of a goal that is over, each when it has no open run. */
function tidy(context: GoalContext) {
  for (const { agent_id } of workersOf(context)) {
    const busy = [...context.state.openRuns.values()].some((run) => run.agent_id === agent_id)
    if (!busy) dismiss(context, { agent_id })
  }
}

function workersOf({ state, goal }: Pick<GoalContext, 'state' | 'goal'>) {
  return [...state.agents.values()].filter(({ agent_id }) => worksFor(state, goal, agent_id))
}
