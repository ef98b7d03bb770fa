import { type Family, familyOf, shapes } from '../families.ts'
import { spoken } from '../words.ts'

/** The state of something: shape, word and colour. */
export function Mark({ machine, state, family }: { machine: string; state: string; family?: Family | undefined }) {
  const shown = family ?? familyOf(machine, state)
  return (
    <span className={`mark is-${shown}`} title={`${machine}: ${state} (${shapes[shown].meaning})`}>
      <Sign family={shown} />
      {spoken(state)}
    </span>
  )
}

export function Sign({ family }: { family: Family }) {
  return (
    <span className={`sign is-${family}`} aria-hidden="true">
      {shapes[family].sign}
    </span>
  )
}
