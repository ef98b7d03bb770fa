import type { Json } from '../kernel/json.ts'
import { isTerminal } from '../kernel/machine.ts'
import { agentMachine } from '../machines/agent.ts'
import { runMachine } from '../machines/run.ts'
import type { Message } from '../wire/dialogue.ts'
import { newSessionState } from './fold-session.ts'
import type { RunView, SessionState } from './session-state.ts'

/** Raise it when the fold or its shape changes: a fold cache of another version is not read. */
const foldVersion = 15

/** The number of messages of a dialogue, or of runs, in one part. A complete part is never written again. */
const partSize = 500
/** How many of them stand in one line. Short texts take the place of earlier ones in memory; long ones need new pages. */
const lineSize = 50

function linesOf(list: readonly object[]): string {
  const lines: string[] = []
  for (let from = 0; from < list.length; from += lineSize) lines.push(JSON.stringify(list.slice(from, from + lineSize)))
  return lines.join('\n')
}

/**
 * A folded session as texts of lines of JSON. Older messages and ended runs have their own parts, so a save costs only the
 * new ones.
 */
export function toParts(state: SessionState, written: ReadonlySet<string>, hash: string): Map<string, string> {
  const parts = new Map<string, string>()
  const agents = [...state.agents.values()].map((agent) => {
    const { messages, open, calls: _, ...rest } = agent.dialogue
    const complete = completeParts(messages, [...open.values()])
    for (let n = 0; n < complete; n++) {
      const name = `${agent.agent_id}/${n}`
      if (!written.has(name)) parts.set(name, linesOf(messages.slice(n * partSize, (n + 1) * partSize)))
    }
    const recent = messages.slice(complete * partSize)
    return { ...agent, dialogue: { ...rest, complete, recent, open: [...open] } }
  })
  const { openRuns: _runs, openAgents: _agents, ...rest } = state
  const subjects = new Map(state.subjects)
  const runs: RunView[] = []
  const run_parts: string[] = []
  const all = [...state.runs.values()]
  for (let from = 0; from < all.length; from += partSize) {
    const some = all.slice(from, from + partSize)
    const name = `runs/${from / partSize}`
    if (some.length < partSize || some.some((run) => state.openRuns.has(run.run_id))) {
      runs.push(...some)
      continue
    }
    run_parts.push(name)
    if (!written.has(name)) parts.set(name, linesOf(some.map((run) => ({ run, subject: subjects.get(run.run_id) }))))
    for (const { run_id } of some) subjects.delete(run_id)
  }
  const head = {
    fold_version: foldVersion,
    hash,
    ...rest,
    subjects: [...subjects],
    agents,
    runs,
    run_parts,
    turns: [...state.turns.values()],
    calls: [...state.calls.values()],
    interactions: [...state.interactions.values()],
    repeats: [...state.repeats],
    goals: [...state.goals.values()],
  }
  parts.set('head', JSON.stringify(head))
  return parts
}

/** A message that may still be replaced keeps its part, and those after it, in the head. */
function completeParts(messages: readonly Message[], open: readonly { position: number | null }[]): number {
  let first = messages.length
  for (const { position } of open) if (position !== null && position < first) first = position
  return (first - (first % partSize)) / partSize
}

/**
 * Reads a session back from its parts, each as the values of its lines, with the hash of its last rune. Undefined: another
 * version wrote it, or a part is missing.
 */
export function fromParts(session_id: string, parts: ReadonlyMap<string, readonly Json[]>) {
  // The shape of each part follows from its name and the version.
  const linesIn = <T>(name: string) => parts.get(name) as readonly T[] | undefined
  const head = linesIn<Head>('head')?.[0]
  if (head === undefined || head.fold_version !== foldVersion || head.session_id !== session_id) return undefined

  const state = newSessionState(session_id)
  for (const { dialogue, ...agent } of head.agents) {
    const messages: Message[] = []
    for (let n = 0; n < dialogue.complete; n++) {
      const part = linesIn<Message[]>(`${agent.agent_id}/${n}`)?.flat()
      if (part === undefined) return undefined
      for (const message of part) messages.push(message)
    }
    for (const message of dialogue.recent) messages.push(message)
    const { open, brief } = dialogue
    const last = messages.findLast((message) => message.role === 'assistant' && message.calls.length > 0)
    const calls = last?.role === 'assistant' ? [...last.calls] : []
    state.agents.set(agent.agent_id, { ...agent, dialogue: { messages, open: new Map(open), calls, brief } })
  }
  for (const [id, subject] of head.subjects) state.subjects.set(id, subject)
  for (const [id, agent] of state.agents)
    if (!isTerminal(agentMachine, state.subjects.get(id)?.state)) state.openAgents.set(id, agent)
  const runs = [...head.runs]
  for (const name of head.run_parts) {
    const part = linesIn<{ run: RunView; subject: Values<'subjects'> }[]>(name)?.flat()
    if (part === undefined) return undefined
    for (const { run, subject } of part) {
      runs.push(run)
      state.subjects.set(run.run_id, subject)
    }
  }
  for (const run of runs.sort((a, b) => a.submitted_event_id - b.submitted_event_id)) {
    state.runs.set(run.run_id, run)
    if (!isTerminal(runMachine, run.status)) state.openRuns.set(run.run_id, run)
  }
  for (const turn of head.turns) state.turns.set(turn.turn_id, turn)
  for (const call of head.calls) state.calls.set(call.call_id, call)
  for (const question of head.interactions) state.interactions.set(question.interaction_id, question)
  for (const [key, salted] of head.repeats) state.repeats.set(key, salted)
  for (const goal of head.goals) state.goals.set(goal.goal_id, goal)
  const { event_id, config, root_agent_id, turn_errors_in_a_row, suspension, used } = head
  Object.assign(state, { event_id, config, root_agent_id, turn_errors_in_a_row, suspension, used })
  return { state, hash: head.hash }
}

type Values<K extends keyof SessionState> = SessionState[K] extends Map<string, infer V> ? V : never
type Agent = Values<'agents'>
type Open = Agent['dialogue']['open'] extends Map<string, infer V> ? V : never

type Plain = 'session_id' | 'event_id' | 'config' | 'root_agent_id' | 'turn_errors_in_a_row' | 'suspension' | 'used'
type Listed = 'turns' | 'calls' | 'interactions' | 'goals'

interface Head extends Pick<SessionState, Plain>, Readonly<{ [K in Listed]: Values<K>[] }> {
  readonly fold_version: number
  readonly hash: string
  readonly subjects: [string, Values<'subjects'>][]
  readonly agents: (Omit<Agent, 'dialogue'> & {
    readonly dialogue: {
      readonly complete: number
      readonly recent: Message[]
      readonly open: [string, Open][]
      readonly brief: string | null
    }
  })[]
  readonly runs: RunView[]
  /** The names of the parts that hold the others. */
  readonly run_parts: readonly string[]
  readonly repeats: [string, string][]
}
