import type { FailurePack } from '../../src/coordinator/schemas/plan.ts'
import { JsonBlock } from '../parts/json.tsx'
import { Mark } from '../parts/mark.tsx'

/** The reason why there is no plan, and its remedy. */
export function Failure({ failure }: { failure: FailurePack }) {
  const { outcome, failure_type, message, failed_at_state, problems, recovery_suggestions, needs_person } = failure
  return (
    <section className="verdict is-bad" aria-label="Why there is no plan">
      <p>
        <Mark machine="coordination" state={outcome} /> <strong>{failure_type}</strong> in {failed_at_state}: {message}
      </p>
      <ul className="plain-list">
        {recovery_suggestions.map((suggestion) => (
          <li key={suggestion}>{suggestion}</li>
        ))}
      </ul>
      {needs_person && <p>A person has to look before it is submitted again.</p>}
      <details>
        <summary>Every problem ({problems.length})</summary>
        <JsonBlock value={problems} name="problems" />
      </details>
    </section>
  )
}
