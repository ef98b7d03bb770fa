import type { Rune } from '../../src/runes/rune.ts'
import { Link } from '../parts/link.tsx'
import { At } from '../parts/time.tsx'
import { marksOf } from './marks.ts'

/** What was on disk before the effect began and after it ended, and where a crash came between. */
export function WriteAhead({ runes, execution_id }: { runes: readonly Rune[]; execution_id: string }) {
  return (
    <>
      <h2>Write-ahead marks</h2>
      <ol className="write-ahead">
        {marksOf(runes, execution_id).map(({ says, rune, isBreak }) => (
          <li key={says} className={isBreak ? 'is-break' : rune === undefined ? 'is-missing' : ''}>
            <span>{says}</span>{' '}
            {rune === undefined ? (
              <span className="faint">not yet</span>
            ) : (
              <>
                <Link href={`/s/${rune.session_id}?tab=raw&at=${rune.event_id}`}>event {rune.event_id}</Link>{' '}
                <At at={rune.at} />
              </>
            )}
          </li>
        ))}
      </ol>
    </>
  )
}
