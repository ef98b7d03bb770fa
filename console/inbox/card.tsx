import { useEffect, useState } from 'react'
import type { InteractionCard as Interaction } from '../../src/wire/interaction.ts'
import { interactionEndpoints } from '../../src/wire/interaction.ts'
import { ask } from '../api/request.ts'
import { brief } from '../parts/json.tsx'
import { Link } from '../parts/link.tsx'
import { Loading, Trouble } from '../parts/states.tsx'
import { At, Left, Since } from '../parts/time.tsx'
import { useAsked } from '../use-asked.ts'
import type { Answering } from './answering.tsx'
import { Approval } from './approval.tsx'
import { EcsForm } from './ecs-form.tsx'
import { Notice } from './notice.tsx'
import { Question } from './question.tsx'
import { QuestionPack } from './question-pack.tsx'
import { Settlement } from './settlement.tsx'

/** The kinds of interaction in words. */
export const kindNames: { readonly [K in Interaction['interaction_kind']]: string } = {
  approval: 'approval',
  ecs: 'form',
  question: 'question',
  question_pack: 'questions about a plan',
  settlement: 'did it happen?',
  notice: 'notice',
}

interface Shown {
  readonly interaction_id: string
  /** A new value loads the question again. */
  readonly version?: unknown
  readonly isSelected?: boolean
  readonly onClosed?: () => void
}

/** An open question: its text, its author, its reason, and the effects of yes, no and silence. */
export function InteractionCard({ interaction_id, version = '', isSelected = false, onClosed }: Shown) {
  const {
    value: asked,
    problem,
    again,
  } = useAsked(`interaction ${interaction_id}`, (signal) =>
    ask(interactionEndpoints.getInteraction, { params: { interaction_id } }, signal),
  )
  // A new version loads the question again.
  useEffect(() => again(), [again, version])
  const isInert = useInert(`${interaction_id} ${asked?.state}`)
  if (asked === undefined)
    return problem === undefined ? <Loading what="the question" /> : <Trouble problem={problem} retry={again} />
  const isOpen = asked.state === 'open'
  const done = () => {
    again()
    onClosed?.()
  }
  return (
    <article
      className={`card ${isOpen ? 'is-open' : 'is-over'}${isSelected ? ' is-selected' : ''}`}
      aria-labelledby={`title-${interaction_id}`}
      data-interaction={interaction_id}
    >
      <header>
        <span className="chip">{kindNames[asked.interaction_kind]}</span>
        <h3 id={`title-${interaction_id}`}>{titleOf(asked)}</h3>
      </header>
      <p className="faint">
        {asked.agent !== null && `${asked.agent} asked `}
        <Since at={asked.opened_at} ago /> in <Link href={`/s/${asked.session_id}`}>{asked.session_id}</Link>
        {asked.execution_id !== null && (
          <>
            {' · '}
            <Link href={`/c/${asked.execution_id}`}>contract</Link>
          </>
        )}
        {' · '}
        <Link href={`/inbox/${interaction_id}`}>{interaction_id}</Link>
      </p>
      <Body asked={asked} isInert={isInert} done={done} isOpen={isOpen} isSelected={isSelected} />
      {isOpen ? <Silence asked={asked} /> : <Over asked={asked} />}
    </article>
  )
}

function titleOf({ interaction_kind, action_summary, prompt }: Interaction): string {
  return interaction_kind === 'approval' && action_summary !== null ? `Approve ${action_summary}?` : prompt
}

function Body(answering: Answering) {
  switch (answering.asked.interaction_kind) {
    case 'approval':
      return <Approval {...answering} />
    case 'settlement':
      return <Settlement {...answering} />
    case 'ecs':
      return <EcsForm {...answering} />
    case 'question_pack':
      return <QuestionPack {...answering} />
    case 'notice':
      return <Notice {...answering} />
    default:
      return <Question {...answering} />
  }
}

function Silence({ asked: { deadline, silence } }: { asked: Interaction }) {
  if (deadline === null) return <p className="silence">Without an answer: {silence}</p>
  return (
    <p className="silence">
      <Left until={deadline} /> left. Without an answer by <At at={deadline} />: {silence}
    </p>
  )
}

function Over({ asked: { state, closed_by, closed_at, reply } }: { asked: Interaction }) {
  return (
    <p className="over" role="status">
      {state} by {closed_by ?? 'no one'}
      {closed_at !== null && (
        <>
          {' '}
          <Since at={closed_at} ago />
        </>
      )}
      {reply !== null && <>: {brief(reply, 200)}</>}
    </p>
  )
}

/** Buttons are inactive for a moment after a card appeared or changed, against accidental clicks. */
function useInert(key: string): boolean {
  const [calm, setCalm] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setCalm(key), 400)
    return () => clearTimeout(timer)
  }, [key])
  return calm !== key
}
