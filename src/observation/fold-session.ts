import type { Json } from '../kernel/json.ts'
import type { Machine } from '../kernel/machine.ts'
import { restingState } from '../kernel/transition.ts'
import { type MachineName, machineNamed } from '../machines/all.ts'
import type { Rune } from '../runes/rune.ts'
import { askedAbout, carriedMoves } from '../runes/rune.ts'
import { consequenceLabels, howDecided } from './contract.ts'
import { foldDialogue, newDialogue } from './dialogue.ts'
import { foldGoal } from './fold-goal.ts'
import { foldCall, foldRun, foldSpending, nothingUsed } from './fold-run.ts'
import type { AgentView, SessionState } from './session-state.ts'

/** A session before its first rune. */
export function newSessionState(session_id: string): SessionState {
  return {
    session_id,
    event_id: 0,
    subjects: new Map(),
    agents: new Map(),
    openAgents: new Map(),
    runs: new Map(),
    openRuns: new Map(),
    turns: new Map(),
    calls: new Map(),
    interactions: new Map(),
    repeats: new Map(),
    goals: new Map(),
    config: {},
    root_agent_id: '',
    turn_errors_in_a_row: 0,
    suspension: null,
    used: nothingUsed(),
  }
}

/** Folds one rune into the state, in place: a step costs the same at the ten thousandth rune as at the tenth. */
export function foldSession(state: SessionState, rune: Rune): void {
  state.event_id = rune.event_id
  moveSubjects(state, rune)
  switch (rune.kind) {
    case 'session.created':
      state.config = rune.payload.config
      break
    case 'agent.spawning': {
      const { agent_id, agent, role, parent_id, budget } = rune.payload
      const declared = { agent_id, agent, role, parent_id, budget, parent_call_id: null }
      const spawned: AgentView = { ...declared, used: nothingUsed(), turn_id: null, dialogue: newDialogue(), facts: [] }
      state.agents.set(agent_id, spawned)
      state.openAgents.set(agent_id, spawned)
      if (state.root_agent_id === '') state.root_agent_id = agent_id
      break
    }
    case 'agent.failed':
    case 'agent.terminated':
      state.openAgents.delete(rune.payload.agent_id)
      break
    case 'session.suspended':
      state.suspension = { by: rune.trigger === 'budget_exhausted' ? 'budget' : 'errors', reason: rune.payload.reason }
      break
    case 'session.closing':
      state.suspension = null
      break
    case 'session.unsuspended': {
      const { budget } = rune.payload
      state.suspension = null
      state.turn_errors_in_a_row = 0
      if (budget !== undefined)
        state.config = { ...state.config, budget: { ...(state.config.budget as object), ...budget } as Json }
      break
    }
    case 'memory.committed':
      remember(state, rune)
      break
  }
  foldSpending(state, rune)
  foldRun(state, rune)
  foldCall(state, rune)
  if (state.goals.size > 0 || rune.kind === 'plan.goal_received') foldGoal(state, rune)
  const agent = rune.agent_id === undefined ? undefined : state.agents.get(rune.agent_id)
  if (agent === undefined) return
  if (state.openAgents.has(agent.agent_id)) foldDialogue(agent.dialogue, rune)
  else if (agent.dialogue.messages.length > 0) agent.dialogue = newDialogue()
}

/** The number of facts that an agent keeps. Older ones stay in the log. */
const keptFacts = 20

function remember(state: SessionState, rune: Rune<'memory.committed'>) {
  const { action_type, action_summary, final_status, result_summary, error_summary, irreversible } = rune.payload
  const { decided_by = null } = rune.payload
  const how = howDecided({ consequence_label: consequenceLabels[final_status], action_type, decided_by })
  const outcome = result_summary ?? error_summary
  const fact = `${action_summary}: ${final_status}${irreversible ? ', irreversible' : ''}${how}${outcome === null ? '' : `; ${outcome}`}`
  const facts = state.agents.get(rune.agent_id ?? '')?.facts
  facts?.push(fact)
  if (facts !== undefined && facts.length > keptFacts) facts.shift()
}

/** Versions as in the read model `subjects`: own moves, carried ones that change the state, questions about a contract. */
function moveSubjects(state: SessionState, rune: Rune) {
  const { machine, subject_id, to } = rune
  if (machine !== undefined && subject_id !== undefined && to !== undefined) enter(state, machine, subject_id, to)
  const asked = state.subjects.get(askedAbout(rune) ?? '')
  if (asked !== undefined) asked.version += 1
  for (const move of carriedMoves(rune, (id) => state.subjects.get(id)?.state))
    if (move.from !== move.to) enter(state, move.machine, move.subject_id, move.to)
}

function enter(state: SessionState, machine: string, subject_id: string, to: string) {
  const at = restingState(machineNamed(machine) as Machine, to)
  const subject = state.subjects.get(subject_id)
  if (subject === undefined) state.subjects.set(subject_id, { machine: machine as MachineName, state: at, version: 1 })
  else {
    subject.state = at
    subject.version += 1
  }
}
