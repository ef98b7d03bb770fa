import { isTerminal } from '../../src/kernel/machine.ts'
import { contractMachine } from '../../src/machines/contract.ts'
import type { Rune } from '../../src/runes/rune.ts'

interface WriteAheadMark {
  readonly says: string
  readonly rune: Rune | undefined
  readonly isBreak: boolean
}

/** The steps of a write-ahead action, each with the rune that proves it; a worker that was lost in between is a break. */
export function marksOf(runes: readonly Rune[], execution_id: string): readonly WriteAheadMark[] {
  const own = runes.filter((rune) => rune.execution_id === execution_id)
  const opened = own.find((rune) => rune.kind === 'contract.opened')
  const started = own.findLast((rune) => rune.kind === 'contract.moved' && isEffectStart(rune, own))
  const ended = own.find((rune) => rune.kind === 'contract.moved' && isTerminal(contractMachine, rune.to))
  const lost = runes.find(
    (rune) =>
      rune.kind === 'run.moved' &&
      rune.trigger === 'restart.requeued' &&
      rune.actor === 'recovery' &&
      rune.run_id === opened?.run_id &&
      started !== undefined &&
      rune.event_id > started.event_id &&
      (ended === undefined || rune.event_id < ended.event_id),
  )
  const mark = (says: string, rune: Rune | undefined, isBreak = false) => ({ says, rune, isBreak })
  return [
    mark('intent written', opened),
    mark('effect may begin', started),
    ...(lost === undefined ? [] : [mark('the worker was lost here', lost, true)]),
    mark(ended === undefined || ended.to === 'completed' ? 'result written' : `ended: ${ended.to}`, ended),
  ]
}

/** The moves with guard readings of the contract, its questions and its run, from its opening to its end. */
export function guardedMoves(runes: readonly Rune[], execution_id: string): readonly Rune[] {
  const own = runes.filter((rune) => rune.execution_id === execution_id)
  const first = own[0]
  const last = own.find((rune) => rune.kind === 'contract.moved' && isTerminal(contractMachine, rune.to))
  return runes.filter(
    ({ event_id, guards, run_id, execution_id: id }) =>
      guards !== undefined &&
      (id === execution_id || (first !== undefined && run_id === first.run_id)) &&
      event_id >= (first?.event_id ?? 0) &&
      (last === undefined || event_id <= last.event_id),
  )
}

/** A start that only leads to a question allows no effect. */
function isEffectStart(rune: Rune, own: readonly Rune[]): boolean {
  if (rune.to !== 'running') return false
  const next = own.find((other) => other.kind === 'contract.moved' && other.event_id > rune.event_id)
  if (next === undefined) return true
  const asks =
    next.kind === 'contract.moved' && next.payload.reason !== undefined && next.payload.reason !== 'outcome_unknown'
  return !asks && next.to !== 'rejected' && !(next.to === 'cancelled' && next.at === rune.at)
}
