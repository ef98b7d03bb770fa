import type { State } from '../kernel/machine.ts'
import { declaredState } from '../machines/all.ts'
import { contractMachine } from '../machines/contract.ts'
import { interactionMachine } from '../machines/interaction.ts'
import { runMachine } from '../machines/run.ts'
import { sessionMachine } from '../machines/session.ts'
import { turnMachine } from '../machines/turn.ts'
import type { Rune } from '../runes/rune.ts'
import { addToHistories, type ContractHistory, type GrowingHistories, outcomeIsUnknown, snapshot } from './contract.ts'
import { elapsed, span } from './durations.ts'
import { movesIn, type SubjectAt, type SubjectMove } from './subject-moves.ts'

/** The lines of one session. */
export type Lines = ReturnType<typeof createLines>

/** The line of a session with these runes at `now`. */
export function sessionLine(runes: readonly Rune[], now: number): string {
  const lines = createLines()
  for (const rune of runes) lines.fold(rune)
  return lines.sessionLine(now)
}

/** The lines of a session, in the words of its declarations. A line costs the open work, not the log. */
export function createLines() {
  const states = new Map<string, string>()
  const subjects = new Map<string, SubjectAt>()
  const histories: GrowingHistories = new Map()
  const openRuns = new Set<string>()
  const openQuestions = new Map<string, Rune<'interaction.opened'>>()
  /** Contracts that act now, and those whose outcome is unknown. */
  const acting = new Set<string>()
  const unknown = new Set<string>()
  const lastMove = new Map<string, Rune<'run.moved'>>()
  const lastTurn = new Map<string, string>()
  let session: string | undefined
  /** The run that ended last. */
  let lastEnded = ''

  function enter(move: SubjectMove) {
    const { machine, subject_id, to, at: since, event_id } = move
    states.set(subject_id, to)
    if (subjects.get(subject_id)?.state === to) return
    const subject = { machine, subject_id, state: to, since, event_id }
    subjects.set(subject_id, subject)
    if (machine === sessionMachine.name) session ??= subject_id
    if (machine === runMachine.name) {
      toggle(openRuns, subject_id, !flagsOf(subject).terminal)
      if (flagsOf(subject).terminal) lastEnded = subject_id
    }
    if (machine === interactionMachine.name && to !== interactionMachine.initial) openQuestions.delete(subject_id)
  }

  function noteContract(execution_id: string) {
    const history = histories.get(execution_id)
    if (history === undefined) return
    const { transition_count, is_stable } = snapshot(history, 0)
    toggle(acting, execution_id, transition_count > 0 && !is_stable)
    toggle(unknown, execution_id, outcomeIsUnknown(history))
  }

  const ofRun = (run_id: string | undefined) => (execution_id: string) =>
    run_id === undefined || histories.get(execution_id)?.[0].run_id === run_id

  function questions(now: number, run_id?: string): readonly string[] {
    return [...openQuestions.values()].flatMap(({ payload, interaction_id = '', run_id: asker }) =>
      run_id === undefined || asker === run_id ? [questionLine({ ...payload, interaction_id }, now)] : [],
    )
  }

  function unknowns(run_id?: string): readonly string[] {
    return [...unknown]
      .filter(ofRun(run_id))
      .map((id) => `It is unknown whether ${histories.get(id)?.[0].payload.action_summary} happened.`)
  }

  function ending(run_id: string): readonly string[] {
    const { error_code, message } = lastMove.get(run_id)?.payload ?? {}
    return [...(error_code === undefined ? [] : [`${error_code}.`]), ...(message === undefined ? [] : [message])]
  }

  function obstacle(): readonly string[] {
    const at = subjects.get(session ?? '')
    return at === undefined ? [] : obstacleLine(at.state)
  }

  function activity(run_id: string, now: number): readonly string[] {
    const own = [...acting].filter(ofRun(run_id)).map((id) => snapshot(histories.get(id) as ContractHistory, now))
    if (own.length > 0)
      return own.map((at) => `${at.action_summary} has been running for ${span(at.duration_in_state_ms)}.`)
    const turn = subjects.get(lastTurn.get(run_id) ?? '')
    return turn === undefined ? [] : [flagsOf(turn).meaning ?? '']
  }

  function detailsOf(run: SubjectAt, now: number): readonly string[] {
    const { terminal, resumable, stable } = flagsOf(run)
    if (terminal) return ending(run.subject_id)
    if (resumable) return questions(now, run.subject_id)
    return stable ? obstacle() : activity(run.subject_id, now)
  }

  function runLineOf(run_id: string, now: number): string {
    const run = subjects.get(run_id)
    if (run === undefined) return 'There is no such run.'
    return join([stateLine(run, now), ...detailsOf(run, now), ...unknowns(run_id)])
  }

  return {
    /** The state of every subject, by id, in the order in which they appeared. */
    subjects: subjects as ReadonlyMap<string, SubjectAt>,
    fold(rune: Rune) {
      const { run_id, execution_id } = rune
      if (rune.kind === 'interaction.opened' && rune.interaction_id !== undefined)
        openQuestions.set(rune.interaction_id, rune)
      for (const move of movesIn(rune, states)) enter(move)
      addToHistories(histories, rune)
      if (execution_id !== undefined && rune.machine === contractMachine.name) noteContract(execution_id)
      if (run_id === undefined) return
      if (rune.kind === 'run.moved') lastMove.set(run_id, rune)
      if (rune.machine === turnMachine.name && rune.subject_id !== undefined) lastTurn.set(run_id, rune.subject_id)
    },
    sessionLine(now: number) {
      const at = subjects.get(session ?? '')
      if (at === undefined) return 'There is no such session.'
      const open = [...openRuns].flatMap((run_id) => subjects.get(run_id) ?? [])
      const [first] = open
      if (first !== undefined && open.length === 1) return `${first.subject_id}: ${runLineOf(first.subject_id, now)}`
      return join([openLine(at, open, now), ...(open.length === 0 ? ending(lastEnded) : questions(now)), ...unknowns()])
    },
    runLine: runLineOf,
  }
}

function toggle(set: Set<string>, id: string, isIn: boolean) {
  if (isIn) set.add(id)
  else set.delete(id)
}

type At = Pick<SubjectAt, 'machine' | 'subject_id' | 'state' | 'since'>

/** The line of a session with no open run, or with several. */
function openLine(session: At, open: readonly At[], now: number): string {
  if (open.length === 0) return `${stateLine(session, now)} No run is open.`
  const each = open.map(({ subject_id, state, since }) => `${subject_id} ${state} for ${span(elapsed(since, now))}`)
  return `${open.length} runs are open: ${each.join(', ')}.`
}

function questionLine({ interaction_id, prompt, deadline }: Question, now: number): string {
  const until = deadline === null ? '' : `, ${span(elapsed(now, deadline))} left`
  return `It asks: ${prompt.replaceAll(/\s+/g, ' ')} (${interaction_id}${until})`
}

/** The reason why a queued run does not begin, if its session is the reason. */
function obstacleLine(state: string): readonly string[] {
  return state === 'active' ? [] : [`The session is ${state}: ${declaredState('session', state)?.meaning ?? ''}`]
}

type Question = { readonly interaction_id: string; readonly prompt: string; readonly deadline: number | null }

/** A row of the list of sessions. */
interface SessionRow {
  readonly session_id: string
  readonly state: string
  readonly since: number
  readonly open_runs: readonly { readonly run_id: string; readonly status: string; readonly since: number }[]
  readonly waiting: readonly Question[]
  /** Of the last run, if it failed and no other is open. */
  readonly failure: { readonly code: string; readonly message: string } | null
}

/** The line of a session from its row alone: the same sentences, without facts that only the log has. */
export function rowLine(row: SessionRow, now: number): string {
  const { session_id, state, since, waiting, failure } = row
  const machine = runMachine.name
  const open = row.open_runs.map((run) => ({ machine, subject_id: run.run_id, state: run.status, since: run.since }))
  const asked = waiting.map((question) => questionLine(question, now))
  const [first] = open
  if (first !== undefined && open.length === 1) {
    const details = first.state === 'queued' ? obstacleLine(state) : first.state === 'waiting_user' ? asked : []
    return join([`${first.subject_id}: ${stateLine(first, now)}`, ...details])
  }
  const session = { machine: sessionMachine.name, subject_id: session_id, state, since }
  const failed = failure === null ? [] : [`${failure.code}.`, failure.message]
  return join([openLine(session, open, now), ...(open.length === 0 ? failed : asked)])
}

function stateLine(subject: At, now: number): string {
  return `${subject.state} for ${span(elapsed(subject.since, now))}. ${flagsOf(subject).meaning ?? ''}`
}

const flagsOf = ({ machine, state }: At): Partial<State> => declaredState(machine, state) ?? {}

function join(sentences: readonly string[]): string {
  return sentences.filter((sentence) => sentence !== '').join(' ')
}
