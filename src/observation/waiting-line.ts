import type { Machine } from '../kernel/machine.ts'
import { machines } from '../machines/all.ts'
import { interactionMachine } from '../machines/interaction.ts'
import { runMachine } from '../machines/run.ts'
import { sessionMachine } from '../machines/session.ts'
import { turnMachine } from '../machines/turn.ts'
import type { Rune } from '../runes/rune.ts'
import { contractHistories, outcomeIsUnknown, snapshot } from './contract.ts'
import { elapsed } from './elapsed.ts'
import { span } from './span.ts'
import { type SubjectAt, stateAt } from './state-at.ts'

/**
 * What a session is doing and what it is waiting for, on one line. What a state
 * means is said in the words of its declaration.
 */
export function sessionLine(runes: readonly Rune[], now: number): string {
  const subjects = [...stateAt(runes).values()]
  const session = subjects.find((subject) => subject.machine === sessionMachine.name)
  if (session === undefined) return 'There is no such session.'
  const open = subjects.filter((subject) => subject.machine === runMachine.name && !flagsOf(subject).terminal)
  const [first] = open
  if (first === undefined) return join([stateLine(session, now), 'No run is open.', ...unknowns(runes)])
  if (open.length === 1) return `${first.subject_id}: ${runLine(runes, first.subject_id, now)}`
  const each = open.map((run) => `${run.subject_id} ${run.state} for ${span(elapsed(run.since, now))}`)
  return join([`${open.length} runs are open: ${each.join(', ')}.`, ...questions(runes, now), ...unknowns(runes)])
}

/** The same for one run. */
export function runLine(runes: readonly Rune[], run_id: string, now: number): string {
  const subjects = stateAt(runes)
  const run = subjects.get(run_id)
  if (run === undefined) return 'There is no such run.'
  const own = runes.filter((rune) => rune.run_id === run_id)
  const { terminal, resumable, stable } = flagsOf(run)
  const details = terminal
    ? ending(own)
    : resumable
      ? questions(own, now)
      : stable
        ? obstacle([...subjects.values()])
        : activity(own, subjects, now)
  return join([stateLine(run, now), ...details, ...unknowns(own)])
}

function stateLine(subject: SubjectAt, now: number): string {
  return `${subject.state} for ${span(elapsed(subject.since, now))}. ${flagsOf(subject).meaning}`
}

function ending(own: readonly Rune[]): readonly string[] {
  const last = own.findLast((rune) => rune.kind === 'run.moved')
  if (last?.kind !== 'run.moved') return []
  const { error_code, message } = last.payload
  return [...(error_code === undefined ? [] : [`${error_code}.`]), ...(message === undefined ? [] : [message])]
}

function questions(runes: readonly Rune[], now: number): readonly string[] {
  const subjects = stateAt(runes)
  return runes.flatMap((rune) => {
    if (rune.kind !== 'interaction.opened') return []
    if (subjects.get(rune.interaction_id ?? '')?.state !== interactionMachine.initial) return []
    const { prompt, deadline } = rune.payload
    const until = deadline === null ? '' : `, ${span(elapsed(now, deadline))} left`
    return [`It asks: ${prompt.replaceAll(/\s+/g, ' ')} (${rune.interaction_id}${until})`]
  })
}

/** Why a run that is ready does not begin, if its session is the reason. */
function obstacle(subjects: readonly SubjectAt[]): readonly string[] {
  const session = subjects.find((subject) => subject.machine === sessionMachine.name)
  if (session === undefined || session.state === 'active') return []
  return [`The session is ${session.state}: ${flagsOf(session).meaning}`]
}

function activity(own: readonly Rune[], subjects: ReadonlyMap<string, SubjectAt>, now: number): readonly string[] {
  const acting = [...contractHistories(own).values()]
    .map((history) => snapshot(history, now))
    .filter((contract) => contract.transition_count > 0 && !contract.is_stable)
  if (acting.length > 0)
    return acting.map(
      ({ action_summary, duration_in_state_ms }) =>
        `${action_summary} has been running for ${span(duration_in_state_ms)}.`,
    )
  const turn_id = own.findLast((rune) => rune.machine === turnMachine.name)?.subject_id
  const turn = turn_id === undefined ? undefined : subjects.get(turn_id)
  return turn === undefined ? [] : [flagsOf(turn).meaning]
}

function unknowns(runes: readonly Rune[]): readonly string[] {
  return [...contractHistories(runes).values()]
    .filter(outcomeIsUnknown)
    .map(([opened]) => `Nobody knows whether ${opened.payload.action_summary} happened.`)
}

const byName = new Map<string, Machine>(machines.map((machine) => [machine.name, machine]))

function flagsOf({ machine, state }: SubjectAt) {
  return byName.get(machine)?.states[state] ?? { meaning: '' }
}

function join(sentences: readonly string[]): string {
  return sentences.filter((sentence) => sentence !== '').join(' ')
}
