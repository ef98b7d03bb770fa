import type { Rune } from '../../src/runes/rune.ts'
import { Guards } from '../parts/guards.tsx'
import { Link } from '../parts/link.tsx'
import { At } from '../parts/time.tsx'
import { guardedMoves, marksOf } from './marks.ts'

/** The guarded moves of its run and its questions while it was open, each with what its guards found. */
export function GuardedMoves({ runes, execution_id }: { runes: readonly Rune[]; execution_id: string }) {
  const moves = guardedMoves(runes, execution_id)
  if (moves.length === 0) return null
  return (
    <>
      <h2>Guarded moves around it</h2>
      <ol className="plain-list">
        {moves.map((rune) => (
          <li key={rune.event_id}>
            <Link href={`/s/${rune.session_id}?tab=raw&at=${rune.event_id}`}>event {rune.event_id}</Link> {rune.machine}
            : {rune.from ?? '·'} → <strong>{rune.to}</strong>
            <Guards move={rune} />
          </li>
        ))}
      </ol>
    </>
  )
}

/** The records on disk before the effect began and after it ended, and where a crash came between. */
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
