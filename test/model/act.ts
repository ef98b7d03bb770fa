import type { ThreadName } from '../support/runes.ts'
import type { RowRef } from './append.ts'
import { type Call, isIrreversible, type Worker, type World } from './world.ts'

/**
 * Something that may happen next. `rows` is one append; `after` is what the
 * process or the world does once it is committed.
 */
export interface Act {
  readonly name: string
  readonly by?: 'holder' | 'command'
  readonly rows?: readonly RowRef[]
  /** A guard may refuse it; any other refusal means that the runtime wants what the declarations do not have. */
  readonly guarded?: true
  readonly before?: (world: World) => void
  readonly after?: (world: World) => void
}

const over = ['succeeded', 'failed', 'canceled']
export const isOver = (world: World) => over.includes(world.run)

/** The move that ends each open call when its run ends. A call that may have happened is never withdrawn. */
export function closing(world: World, holder: Worker | null): RowRef[] {
  return world.calls.flatMap((call, i): RowRef[] => {
    if (call.kind === 'form') {
      if (call.contract === 'pending') return [['step_cancelled_unbegun', i]]
      if (call.contract !== 'waiting') return []
      return [[call.interaction === 'open' ? 'step_cancelled' : 'step_cancelled_answered', i]]
    }
    if (call.tool === 'pending_call') return [['cancelled_unbegun', i]]
    if (call.tool === 'awaiting_approval')
      return [[call.interaction === 'open' ? 'cancelled_waiting' : 'cancelled_running', i]]
    if (call.tool !== 'executing') return []
    if (call.contract === 'waiting') {
      if (call.interaction === 'open') return [['unknown_outlived', i]]
      if (call.answer === 'leave') return [['unknown_left_again', i]]
      return [[call.answer === 'yes' ? 'settled_happened' : 'settled_did_not', i]]
    }
    const asks = call.interaction === 'open'
    if (!isIrreversible(call)) return [[asks ? 'cancelled_waiting' : 'cancelled_running', i]]
    const known = call.hands !== null && call.hands === holder
    if (known && call.effect === 'done') return ending(call, i, 'succeeded')
    if (known && call.effect === 'broke') return ending(call, i, 'failed')
    return ending(call, i, 'unknown_left')
  })
}

/** A question of a working tool is withdrawn with the row that ends its call. */
export function ending(call: Call, i: number, row: ThreadName): RowRef[] {
  return call.interaction === 'open'
    ? [
        ['input_withdrawn', i],
        [row, i],
      ]
    : [[row, i]]
}
