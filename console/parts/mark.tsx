import { type Look, looks, toneOf } from '../tones.ts'
import { spoken } from '../words.ts'

/** The state of something: shape, word and colour. */
export function Mark({ machine, state, look }: { machine: string; state: string; look?: Look | undefined }) {
  const shown = look ?? toneOf(machine, state)
  return (
    <span className={`mark is-${shown}`} title={`${machine}: ${state} (${looks[shown].meaning})`}>
      <Sign look={shown} />
      {spoken(state)}
    </span>
  )
}

/** The sign of a tone. */
export function Sign({ look }: { look: Look }) {
  return (
    <span className={`sign is-${look}`} aria-hidden="true">
      {looks[look].sign}
    </span>
  )
}
