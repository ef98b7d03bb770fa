import type { Reading } from '../kernel/guard.ts'
import type { Machine } from '../kernel/machine.ts'
import { machines } from '../machines/all.ts'
import type { Draft } from '../runes/rune.ts'

/** `tool.result` moves its call, and also follows a denial, which has already ended it. */
const alsoAlone: ReadonlySet<string> = new Set(['tool.result'])

interface Declared {
  readonly machine: string
  readonly from: string | null
  readonly trigger: string | null
  readonly to: string
  readonly when: readonly string[]
}

/** The moves that each kind of rune records: a rune of such a kind records one of them. */
const movesOf = new Map<string, Declared[]>()
const declare = (kind: string, move: Declared) => movesOf.set(kind, [...(movesOf.get(kind) ?? []), move])
for (const { name: machine, initial, opens, transitions } of machines as readonly Machine[]) {
  if (opens !== null) declare(opens, { machine, from: null, trigger: null, to: initial, when: [] })
  for (const { from, on, to, rune, carried, when = [] } of transitions)
    if (rune !== null && !carried) declare(rune, { machine, from, trigger: on, to, when })
}

/** What is wrong with the move that a draft records, judged by the declarations alone; nothing if it is legal. */
export function moveProblem(draft: Draft): string | undefined {
  const { machine, subject_id, from, to, trigger, kind } = draft
  const isMove = machine !== undefined || subject_id !== undefined || from !== undefined
  if (!isMove && to === undefined && trigger === undefined) {
    const [declared] = movesOf.get(kind) ?? []
    if (declared === undefined || alsoAlone.has(kind)) return undefined
    return `It records a move of a ${declared.machine}, so it needs machine, subject_id, from, to and trigger.`
  }
  if (
    machine === undefined ||
    subject_id === undefined ||
    from === undefined ||
    to === undefined ||
    trigger === undefined
  )
    return 'A move has machine, subject_id, from, to and trigger, or none of them.'
  for (const move of movesOf.get(kind) ?? [])
    if (move.from === from && move.trigger === trigger && move.to === to && move.machine === machine)
      return readingProblem(move, draft.guards)
  return `No machine "${machine}" declares ${from ?? 'nothing'} → ${to} on ${trigger ?? 'opening'} with this kind of rune.`
}

/** A text of a reading names states and counts; a longer one would carry something else. */
const longestReason = 400

function readingProblem({ when }: Declared, guards: readonly Reading[] | undefined): string | undefined {
  if (guards === undefined) {
    if (when.length === 0) return undefined
    return `It needs a reading of each of its guards: ${when.join(', ')}.`
  }
  const read = new Set<string>()
  for (const { guard, holds, because } of guards) {
    if (holds !== true) return `Its guard ${guard} did not hold: ${because}`
    if (because.length > longestReason || !because.isWellFormed()) return `The reading of ${guard} has no plain reason.`
    read.add(guard)
  }
  const missing = when.filter((guard) => !read.has(guard))
  return missing.length === 0 ? undefined : `It needs a reading of each of its guards: ${missing.join(', ')}.`
}
