import type { TaskView } from '../../observation/goal-state.ts'
import { subject } from '../../runtime/subject.ts'
import type { Desk } from './desk.ts'

/** Only the goal gives it work. */
export function dismiss({ state, batch }: Desk, { agent_id }: Pick<TaskView, 'agent_id'>) {
  if (agent_id === null || batch.stateOf(agent_id) !== 'idle') return
  const stats = { ...state.agents.get(agent_id)?.used } as Record<string, number>
  const payload = { agent_id, reason: 'its task is over', stats }
  batch.on(subject.agent(agent_id), 'scheduler').move('kill', payload, { is_forced: false })
}

/** A planner and a critic look; what changes something is for tasks that were judged. */
export function readOnlyTools({ engine }: Desk, agent: string) {
  const { registry } = engine.agents.get(agent) ?? {}
  return (registry?.names ?? []).filter((name) => registry?.find(name)?.read_only === true).map((name) => ({ name }))
}
