import type { Rune } from '../../src/runes/rune.ts'
import { Digest } from '../inbox/answering.tsx'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { plural } from '../words.ts'

interface Shown {
  readonly runes: readonly Rune[]
  readonly idempotency_key: string | null
  readonly execution_id: string
}

/** Other attempts at the same action in this session, and those that were refused because this one has its key. */
export function SameKey({ runes, idempotency_key, execution_id }: Shown) {
  if (idempotency_key === null)
    return (
      <>
        <h2>Key</h2>
        <p>It has no idempotency key: it may be done again.</p>
      </>
    )
  const attempts = runes.flatMap((rune) =>
    rune.kind === 'contract.opened' && rune.payload.idempotency_key === idempotency_key
      ? [rune.execution_id ?? '']
      : [],
  )
  const refused = runes.filter(
    (rune) => rune.kind === 'tool.denied' && rune.payload.reason.includes(execution_id),
  ).length
  const stateOf = (id: string) =>
    runes.findLast((rune) => rune.kind === 'contract.moved' && rune.execution_id === id)?.to ?? 'pending'
  return (
    <>
      <h2>Attempts with the same key</h2>
      <p>
        <Digest name="key" value={idempotency_key} />
      </p>
      <ul className="plain-list">
        {attempts.map((id, i) => (
          <li key={id}>
            attempt {i + 1}: <Mark machine="contract" state={stateOf(id)} />{' '}
            {id === execution_id ? <strong>this one</strong> : <Link href={`/c/${id}`}>{id}</Link>}
          </li>
        ))}
      </ul>
      {refused > 0 && (
        <p>{plural(refused, 'later attempt was', 'later attempts were')} refused, because this one has the key.</p>
      )}
    </>
  )
}
