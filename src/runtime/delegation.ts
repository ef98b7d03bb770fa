import * as z from 'zod'
import { faults } from '../faults/catalogue.ts'
import { hashedId } from '../kernel/digest.ts'
import { isTerminal } from '../kernel/machine.ts'
import { runMachine } from '../machines/run.ts'
import type { RunView, SessionState } from '../observation/session-state.ts'
import { subject } from './batch.ts'
import { stop } from './commands/session.ts'
import { openRun, prepareAgent, spawn } from './commands/submit.ts'
import { change } from './decide-and-append.ts'
import type { Engine, Settings } from './engine.ts'
import { ifOver, once } from './session-cache.ts'
import { tool } from './tools/define-tool.ts'
import type { Tool, ToolContext } from './tools/tool.ts'

/** A delegated task may take days, if its agent waits for a person. */
const patience_ms = 2 ** 31 - 1

/** The tool that delegates a task. The id of the child follows from the call: a repetition finds it. */
export function delegateTool(name: string, engineOf: () => Engine): Tool {
  return tool({
    name: `delegate.${name}`,
    description: `Hands a task to the agent ${name} and waits for its answer.`,
    input: z.object({ task: z.string().min(1) }),
    idempotent: true,
    parallel: true,
    approval: 'never',
    timeoutMs: patience_ms,
    run: ({ task }, context) => delegate(engineOf(), name, task, context),
  })
}

async function delegate(engine: Engine, name: string, task: string, context: ToolContext) {
  const { sessionId, callId } = context
  const child = hashedId('run', ['delegated', callId], engine.sha256)
  const problem = await prepareAgent(engine, name)
  await oneByOne(engine.delegating, sessionId, () =>
    change(engine, sessionId, (batch) => {
      const { state } = batch
      const parent = state.runs.get(context.runId)
      // The setup of the agent may outlast its parent. A task that begins then would have no parent.
      if (parent === undefined || state.calls.get(callId)?.contract !== 'running')
        throw new Error('The run that gave the task is over, so the task was not begun.')
      if (state.runs.has(child)) return
      const refused = delegationProblem(state, parent, engine.settings)
      if (refused !== undefined) throw Object.assign(new Error(refused), { error_kind: 'delegation_refused' })
      const agent_id = spawn(engine, batch, { name, parent_id: parent.agent_id, problem })
      // A cancel of any run above that is recorded first refuses this one.
      for (const { run_id } of [parent, ...ancestorsOf(state, parent)]) batch.restOn(run_id)
      batch.restOn(context.executionId)
      if (problem !== undefined) return
      const { mode, strict: interactive_require_user_reply, allowed_tools, visibility } = parent
      const submission = { agent: name, input: task, mode, interactive_require_user_reply }
      // A plan that binds the parent also binds each agent that gets a part of its task.
      openRun(batch, { run_id: child, agent_id }, submission, {
        parent: { run_id: context.runId, call_id: callId },
        allowed_tools,
        visibility,
      })
    }),
  )
  if (problem !== undefined) throw faults.agent_unfit({ agent: name, problem })
  engine.wake(sessionId, child)
  // The parent waits without a worker's slot. Otherwise parents could take all slots and their children none.
  const takeBack = engine.lendSlot(context.runId)
  try {
    const run = await once(engine.sessions, sessionId, ({ runs }) => ifOver(runs.get(child)), context.signal)
    await dismiss(engine, sessionId, run.agent_id)
    if (run.status === 'succeeded') return run.result
    const because = run.message ?? run.error_code ?? 'no reason given'
    throw new Error(`${name} did not finish its task (${run.status}): ${because}`)
  } finally {
    takeBack()
  }
}

function oneByOne<A>(lines: Map<string, Promise<unknown>>, line: string, work: () => Promise<A>): Promise<A> {
  const mine = (lines.get(line) ?? Promise.resolve()).then(work, work)
  const leave = () => {
    if (lines.get(line) === mine) lines.delete(line)
  }
  lines.set(line, mine)
  mine.then(leave, leave)
  return mine
}

/** Withdraws the tasks of a session whose parent run is over, and dismisses their agents. */
export async function withdrawOrphans(engine: Engine, session_id: string): Promise<void> {
  const state = await engine.sessions.load(session_id)
  for (const run of [...state.openRuns.values()]) {
    if (run.parent_call_id === null || isTerminal(runMachine, run.status) || run.cancel !== null) continue
    if (state.calls.get(run.parent_call_id)?.contract === 'running') continue
    await stop(engine, { session_id, run_id: run.run_id }, 'cancel', 'the run that gave the task is over')
    engine.wake(session_id, run.run_id)
  }
  for (const { agent_id, parent_call_id } of [...state.openAgents.values()]) {
    if (parent_call_id === null || state.calls.get(parent_call_id)?.contract === 'running') continue
    await dismiss(engine, session_id, agent_id)
  }
}

/** Stops every task below a run that was asked to stop. Its request is recorded, so no further task begins. */
export async function stopTasks(engine: Engine, session_id: string, run_id: string, how: Stop): Promise<void> {
  const state = await engine.sessions.load(session_id)
  const below = [...state.openRuns.values()].filter((run) =>
    ancestorsOf(state, run).some((above) => above.run_id === run_id),
  )
  for (const task of below) {
    await stop(engine, { session_id, run_id: task.run_id }, how.request, how.reason)
    engine.wake(session_id, task.run_id)
  }
}

type Stop = { readonly request: 'cancel' | 'interrupt'; readonly reason: string }

function dismiss(engine: Engine, session_id: string, agent_id: string): Promise<void> {
  return change(engine, session_id, (batch) => {
    if (batch.stateOf(agent_id) !== 'idle') return
    const stats = { ...batch.state.agents.get(agent_id)?.used }
    const payload = { agent_id, reason: 'its task is over', stats: stats as Record<string, number> }
    batch.on(subject.agent(agent_id), 'graph_runner').move('kill', payload, { is_forced: false })
  })
}

type DelegationLimits = Pick<Settings, 'maxDelegationDepth' | 'maxOpenDelegations' | 'maxDelegations'>

/** The chain of parent runs of a delegated run, the nearest first. A run that a person submitted has none. */
export function ancestorsOf(state: SessionState, run: RunView): readonly RunView[] {
  const above: RunView[] = []
  for (let at = giverOf(state, run); at !== undefined; at = giverOf(state, at)) above.push(at)
  return above
}

/** By the id of the run: its call is forgotten when it is over. */
const giverOf = (state: SessionState, { parent_run_id }: RunView) => state.runs.get(parent_run_id ?? '')

/** A run above was asked to stop, or is over: no run below it begins. */
export function isStoppedAbove(state: SessionState, run: RunView): boolean {
  return ancestorsOf(state, run).some((above) => above.cancel !== null || isTerminal(runMachine, above.status))
}

function delegationProblem(state: SessionState, run: RunView, limits: DelegationLimits): string | undefined {
  if (run.cancel !== null || isStoppedAbove(state, run)) return 'The task was not begun: its giver was asked to stop.'
  const { maxDelegationDepth, maxOpenDelegations, maxDelegations } = limits
  const above = ancestorsOf(state, run)
  if (above.length >= maxDelegationDepth)
    return `The task was not begun: tasks may be handed on ${maxDelegationDepth} times at most (maxDelegationDepth). Do it yourself.`
  const root = above.at(-1) ?? run
  let open = 0
  let total = 0
  for (const other of state.runs.values()) {
    if (other.parent_call_id === null) continue
    if (!isTerminal(runMachine, other.status) && other.parent_run_id === run.run_id) open += 1
    if (ancestorsOf(state, other).at(-1) === root) total += 1
  }
  if (open >= maxOpenDelegations)
    return `The task was not begun: ${open} tasks of this run are open, which is the limit (maxOpenDelegations). Wait for one of them.`
  if (total >= maxDelegations)
    return `The task was not begun: ${total} tasks were handed on for ${root.run_id}, which is the limit (maxDelegations).`
  return undefined
}
