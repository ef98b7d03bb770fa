import type { Machine } from '../kernel/machine.ts'
import { machines } from '../machines/all.ts'
import type { Draft } from '../runes/rune.ts'

/** `tool.result` moves its call, and also follows a denial, which has already ended it. */
const alsoAlone: ReadonlySet<string> = new Set(['tool.result'])

const signature = (machine: string, from: string | null, trigger: string | null, to: string, kind: string) =>
  `${machine} ${from} ${trigger} ${to} ${kind}`

const declared = new Set<string>()
/** The kinds that some machine writes, and that machine: a rune of such a kind records a move. */
const movers = new Map<string, string>()
for (const { name, initial, opens, transitions } of machines as readonly Machine[]) {
  if (opens !== null) {
    declared.add(signature(name, null, null, initial, opens))
    movers.set(opens, name)
  }
  for (const { from, on, to, rune, carried } of transitions) {
    if (rune === null || carried) continue
    declared.add(signature(name, from, on, to, rune))
    movers.set(rune, name)
  }
}

/** What is wrong with the move that a draft records, judged by the declarations alone; nothing if it is legal. */
export function moveProblem(draft: Draft): string | undefined {
  const { machine, subject_id, from, to, trigger, kind } = draft
  const isMove = machine !== undefined || subject_id !== undefined || from !== undefined
  if (!isMove && to === undefined && trigger === undefined) {
    const mover = movers.get(kind)
    if (mover === undefined || alsoAlone.has(kind)) return undefined
    return `It records a move of a ${mover}, so it needs machine, subject_id, from, to and trigger.`
  }
  if (
    machine === undefined ||
    subject_id === undefined ||
    from === undefined ||
    to === undefined ||
    trigger === undefined
  )
    return 'A move has machine, subject_id, from, to and trigger, or none of them.'
  if (declared.has(signature(machine, from, trigger, to, kind))) return undefined
  return `No machine "${machine}" declares ${from ?? 'nothing'} → ${to} on ${trigger ?? 'opening'} with this kind of rune.`
}
