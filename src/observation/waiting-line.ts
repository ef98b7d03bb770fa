import type { State } from '../kernel/machine.ts'
import { declaredState } from '../machines/all.ts'
import { contractMachine } from '../machines/contract.ts'
import { interactionMachine } from '../machines/interaction.ts'
import { runMachine } from '../machines/run.ts'
import { sessionMachine } from '../machines/session.ts'
import { turnMachine } from '../machines/turn.ts'
import type { Rune } from '../runes/rune.ts'
import { type ContractHistory, type GrowingHistories, outcomeIsUnknown, snapshot, tellHistories } from './contract.ts'
import { elapsed } from './elapsed.ts'
import { span } from './span.ts'
import type { SubjectAt } from './state-at.ts'
import { movesIn, type SubjectMove } from './subject-moves.ts'

/**
 * What a session is doing and what it is waiting for, on one line. What a state
 * means is said in the words of its declaration. It grows with the session:
 * each rune is told once, and a line costs what is open, not what has been.
 */
export interface Lines {
  tell(rune: Rune): void
  /** Where every subject is, by id, in the order in which they appeared. */
  readonly subjects: ReadonlyMap<string, SubjectAt>
  sessionLine(now: number): string
  runLine(run_id: string, now: number): string
}

export function sessionLine(runes: readonly Rune[], now: number): string {
  return linesOf(runes).sessionLine(now)
}

/** The same for one run. */
export function runLine(runes: readonly Rune[], run_id: string, now: number): string {
  return linesOf(runes).runLine(run_id, now)
}

function linesOf(runes: readonly Rune[]): Lines {
  const lines = createLines()
  for (const rune of runes) lines.tell(rune)
  return lines
}

export function createLines(): Lines {
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

  function enter(move: SubjectMove) {
    const { machine, subject_id, to, at: since, event_id } = move
    states.set(subject_id, to)
    if (subjects.get(subject_id)?.state === to) return
    const subject = { machine, subject_id, state: to, since, event_id }
    subjects.set(subject_id, subject)
    if (machine === sessionMachine.name) session ??= subject_id
    if (machine === runMachine.name) toggle(openRuns, subject_id, !flagsOf(subject).terminal)
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
    return [...openQuestions.values()].flatMap((rune) => {
      if (run_id !== undefined && rune.run_id !== run_id) return []
      const { prompt, deadline } = rune.payload
      const until = deadline === null ? '' : `, ${span(elapsed(now, deadline))} left`
      return [`It asks: ${prompt.replaceAll(/\s+/g, ' ')} (${rune.interaction_id}${until})`]
    })
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

  /** Why a run that is ready does not begin, if its session is the reason. */
  function obstacle(): readonly string[] {
    const at = subjects.get(session ?? '')
    if (at === undefined || at.state === 'active') return []
    return [`The session is ${at.state}: ${flagsOf(at).meaning ?? ''}`]
  }

  function activity(run_id: string, now: number): readonly string[] {
    const own = [...acting].filter(ofRun(run_id)).map((id) => snapshot(histories.get(id) as ContractHistory, now))
    if (own.length > 0)
      return own.map(
        ({ action_summary, duration_in_state_ms }) =>
          `${action_summary} has been running for ${span(duration_in_state_ms)}.`,
      )
    const turn = subjects.get(lastTurn.get(run_id) ?? '')
    return turn === undefined ? [] : [flagsOf(turn).meaning ?? '']
  }

  function runLineOf(run_id: string, now: number): string {
    const run = subjects.get(run_id)
    if (run === undefined) return 'There is no such run.'
    const { terminal, resumable, stable } = flagsOf(run)
    const details = terminal
      ? ending(run_id)
      : resumable
        ? questions(now, run_id)
        : stable
          ? obstacle()
          : activity(run_id, now)
    return join([stateLine(run, now), ...details, ...unknowns(run_id)])
  }

  return {
    subjects,
    tell(rune) {
      const { run_id, execution_id } = rune
      if (rune.kind === 'interaction.opened' && rune.interaction_id !== undefined)
        openQuestions.set(rune.interaction_id, rune)
      for (const move of movesIn(rune, states)) enter(move)
      tellHistories(histories, rune)
      if (execution_id !== undefined && rune.machine === contractMachine.name) noteContract(execution_id)
      if (run_id === undefined) return
      if (rune.kind === 'run.moved') lastMove.set(run_id, rune)
      if (rune.machine === turnMachine.name && rune.subject_id !== undefined) lastTurn.set(run_id, rune.subject_id)
    },
    sessionLine(now) {
      const at = subjects.get(session ?? '')
      if (at === undefined) return 'There is no such session.'
      const open = [...openRuns].flatMap((run_id) => subjects.get(run_id) ?? [])
      const [first] = open
      if (first === undefined) return join([stateLine(at, now), 'No run is open.', ...unknowns()])
      if (open.length === 1) return `${first.subject_id}: ${runLineOf(first.subject_id, now)}`
      const each = open.map((run) => `${run.subject_id} ${run.state} for ${span(elapsed(run.since, now))}`)
      return join([`${open.length} runs are open: ${each.join(', ')}.`, ...questions(now), ...unknowns()])
    },
    runLine: runLineOf,
  }
}

function toggle(set: Set<string>, id: string, isIn: boolean) {
  if (isIn) set.add(id)
  else set.delete(id)
}

function stateLine(subject: SubjectAt, now: number): string {
  return `${subject.state} for ${span(elapsed(subject.since, now))}. ${flagsOf(subject).meaning ?? ''}`
}

function flagsOf({ machine, state }: SubjectAt): Partial<State> {
  return declaredState(machine, state) ?? {}
}

function join(sentences: readonly string[]): string {
  return sentences.filter((sentence) => sentence !== '').join(' ')
}
