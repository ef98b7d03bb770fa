import * as z from 'zod'
import { type ConditionContext, type ConditionTask, readCondition } from '../../coordinator/rules/engine.ts'
import { boundedJsonIn, type Json, jsonLimits } from '../../kernel/json.ts'
import { isTerminal } from '../../kernel/machine.ts'
import { runMachine } from '../../machines/run.ts'
import type { Decided, PlannedTask, TaskView } from '../../observation/goal-state.ts'
import type { Actor } from '../../runes/rune.ts'
import { subject } from '../../runtime/batch.ts'
import { readWritten } from './draft.ts'
import { aboutGoal, approvalOf, criticAttempts, dismiss, type GoalContext, openCritic } from './goal-context.ts'
import { conditionInput, type Inputs, inputsOf, linesOf, type Outcome, type Outcomes, textOf } from './prompts.ts'

/** Decides a condition by its rule, or asks a person, in `auto` the critic. An undecided condition does not hold. */
export function decideCondition(context: GoalContext, tasks: readonly TaskView[], task: TaskView, outcomeOf: Outcomes) {
  const { state, config, evaluated, errands } = context
  const { planned } = task
  const { task_id } = planned
  const answered = state.interactions.get(task.condition?.interaction_id ?? '')?.answered
  if (answered != null) return record(context, task, ...readReply(answered))
  const condition = readCondition(planned.condition ?? '')
  let problem: string | undefined
  if ('rule' in condition) {
    const found = evaluated.get(task_id)
    if (found === undefined) {
      errands.push({ errand: 'evaluate', task_id, rule: condition.rule, context: contextOf(tasks, planned, outcomeOf) })
      return
    }
    const { decider, answer } = found
    if ('holds' in answer) {
      const { holds } = answer
      return record(context, task, 'policy', { holds, decided_by: 'rule', decider, reason: `The rule is ${holds}.` })
    }
    problem = `The rule could not be evaluated: ${answer.problem}`
  }
  const inputs = inputsOf(tasks, planned, outcomeOf)
  if (config.mode === 'auto') askCritic(context, task, inputs, problem)
  else askPerson(context, task, inputs, problem)
}

function record(context: GoalContext, { planned }: TaskView, actor: Actor, decided: Decided) {
  const { task_id, condition } = planned
  const payload = { condition: condition ?? '', ...decided, reason: decided.reason.slice(0, 4_000).toWellFormed() }
  context.batch.record('task.condition_decided', { actor, payload }, aboutGoal(context, task_id))
}

function readReply({ reply, replied_by }: { readonly reply: unknown; readonly replied_by: string }): [Actor, Decided] {
  const { decision, reason } = Object(reply) as { readonly decision?: string; readonly reason?: string }
  const holds = decision === 'approve' ? true : decision === 'deny' ? false : null
  const summary = holds === null ? 'The answer was redacted.' : `${replied_by} said ${holds ? 'yes' : 'no'}.`
  return ['human', { holds, decided_by: 'human', decider: replied_by, reason: reason ?? summary }]
}

function askPerson(context: GoalContext, { planned }: TaskView, inputs: Inputs, problem: string | undefined) {
  const { batch, ids, goal } = context
  const { task_id, key, title, condition } = planned
  const interaction_id = ids.conditionQuestion(task_id)
  const prompt = `Does this hold: “${condition}”? If it does, ${key} (${title}) goes on; if it does not, ${key} is skipped.`
  const builds_on = [...linesOf(inputs)]
  const about = { goal_id: goal.goal_id, task_id, task: key, condition, builds_on, ...(problem && { problem }) }
  const concerns = { ...aboutGoal(context, task_id), interaction_id }
  batch.on(subject.newQuestion(interaction_id, concerns), 'scheduler').open(approvalOf(prompt, about))
}

const verdictShape = z.object({ holds: z.boolean().nullable(), reason: z.string().default('') })

function askCritic(context: GoalContext, task: TaskView, inputs: Inputs, problem: string | undefined) {
  const { state, engine, config, ids } = context
  const { task_id } = task.planned
  const undecided = (reason: string) =>
    record(context, task, 'policy', { holds: null, decided_by: 'policy', decider: 'goal', reason })
  let last = problem ?? ''
  for (let attempt = 1; attempt <= criticAttempts; attempt++) {
    const run = state.runs.get(ids.conditionRun(task_id, attempt))
    if (run === undefined) {
      if (config.critic === null) return undecided(`${last} The goal is in the mode auto and has no critic.`.trim())
      if (engine.agents.has(config.critic))
        return openCritic(context, {
          key: `condition ${task_id} ${attempt}`,
          run_id: ids.conditionRun(task_id, attempt),
          agent_id: ids.conditionAgent(task_id, attempt),
          input: conditionInput(context.goal, task.planned, inputs, problem),
        })
      // Another process may have the critic.
      return engine.isAlone ? undecided(`Its critic ${config.critic} is not configured any more.`) : undefined
    }
    if (!isTerminal(runMachine, run.status)) return
    dismiss(context, run)
    const verdict =
      run.status === 'succeeded'
        ? readWritten(String(run.result), verdictShape)
        : { problem: `Its run was ${run.status}.` }
    if ('read' in verdict)
      return record(context, task, 'reasoning', { ...verdict.read, decided_by: 'critic', decider: run.run_id })
    last = verdict.problem
  }
  undecided(`The critic gave no decision in ${criticAttempts} attempts: ${last}`)
}

/** The values that a rule can read: the work tasks before its own. They are over, so the answer never changes. */
function contextOf(tasks: readonly TaskView[], planned: PlannedTask, outcomeOf: Outcomes): ConditionContext {
  const { depends_on, instead_of } = planned
  const byId = new Map(tasks.map(({ planned }) => [planned.task_id, planned]))
  const seen = new Set<string>()
  const found: [string, ConditionTask][] = []
  const look = (task_id: string) => {
    const planned = byId.get(task_id)
    if (planned === undefined || seen.has(task_id)) return
    seen.add(task_id)
    if (planned.kind === 'work') found.push([planned.key, factsOf(outcomeOf(task_id))])
    for (const before of planned.depends_on) look(before)
  }
  for (const before of [...depends_on, instead_of ?? '']) look(before)
  return { tasks: Object.fromEntries(found) }
}

function factsOf({ state, result }: Outcome): ConditionTask {
  if (state !== 'completed') return { state }
  const text = textOf(result)
  const json = typeof result === 'string' ? jsonIn(result) : result
  return { state, result: text, ...(json === undefined ? {} : { json }) }
}

/** Parses a result within the limits for JSON of a model. Undefined: the rule sees it as text only. */
function jsonIn(text: string): Json | undefined {
  const read = boundedJsonIn(text, jsonLimits.arguments)
  return 'value' in read ? read.value : undefined
}
