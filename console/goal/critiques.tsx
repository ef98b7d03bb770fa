import type { CritiqueReport } from '../../src/wire/goal.ts'
import { goalEndpoints } from '../../src/wire/goal.ts'
import { ask } from '../api/request.ts'
import { Loading, Trouble } from '../parts/states.tsx'
import { useAsked } from '../use-asked.ts'

type Finding = CritiqueReport['findings'][number]

const signs: { readonly [S in Finding['severity']]: string } = { error: '✕', warning: '!', suggestion: '→', info: 'i' }

/** The findings of the critic by review. Without the scope `admin`, a message says that it is needed. */
export function Critiques({ goal_id, iterations }: { goal_id: string; iterations: number }) {
  const { value, problem, again } = useAsked(`critiques ${goal_id} ${iterations}`, (signal) =>
    ask(goalEndpoints.getGoalCritiques, { params: { goal_id } }, signal),
  )
  if (problem?.status === 403)
    return (
      <p>
        The critic has reviewed it {iterations === 1 ? 'once' : `${iterations} times`}. Only tokens with the scope admin
        can see its findings, and the token of this page has another scope.
      </p>
    )
  if (value === undefined)
    return problem === undefined ? <Loading what="the critique" /> : <Trouble problem={problem} retry={again} />
  return value.critiques.map((critique) => <Review key={critique.iteration} critique={critique} />)
}

function Review({ critique: { iteration, findings, is_redacted } }: { critique: CritiqueReport }) {
  return (
    <details className="tool review">
      <summary>
        Review {iteration} <span className="one-line">{is_redacted ? 'redacted' : countOf(findings)}</span>
      </summary>
      {findings.length === 0 && <p>{is_redacted ? 'What was found has been redacted.' : 'Nothing was found.'}</p>}
      <ul className="findings">
        {findings.map((finding) => (
          <FindingItem key={finding.id} finding={finding} />
        ))}
      </ul>
    </details>
  )
}

function FindingItem({ finding }: { finding: Finding }) {
  const { severity, category, title, description, evidence, task, suggested_fix } = finding
  return (
    <li>
      <span className={`verdict-word is-${severity}`}>
        {signs[severity]} {severity}
      </span>{' '}
      <span className="chip">{category}</span> <strong>{title}</strong>
      {task !== null && <span className="faint"> about {task}</span>}
      {description !== '' && <p>{description}</p>}
      {evidence.length > 0 && <p>Evidence: {evidence.join(', ')}</p>}
      {suggested_fix !== null && <p>Suggested fix: {suggested_fix}</p>}
    </li>
  )
}

/** `1 error, 2 warnings` */
function countOf(findings: readonly Finding[]): string {
  const counts = Object.keys(signs).flatMap((severity) => {
    const many = findings.filter((finding) => finding.severity === severity).length
    return many === 0 ? [] : [`${many} ${severity}${many === 1 || severity === 'info' ? '' : 's'}`]
  })
  return counts.join(', ') || 'nothing was found'
}
