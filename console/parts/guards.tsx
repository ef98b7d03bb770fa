import { describeGuards, whyAllowed } from '../../src/observation/describe.ts'
import type { RecordedMove } from '../../src/runes/rune.ts'

/** The readings of a recorded move; nothing for a move without guards. */
export function Guards({ move }: { move: Pick<RecordedMove, 'guards'> }) {
  const found = describeGuards(move)
  if (found.length === 0) return null
  return (
    <div className="guards">
      <span className="faint">{whyAllowed}</span>
      <ul className="plain-list">
        {found.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  )
}
