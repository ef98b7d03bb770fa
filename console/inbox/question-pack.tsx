import { useState } from 'react'
import type { QuestionPack as Pack, Question } from '../../src/coordinator/schemas/questions.ts'
import type { JsonObject } from '../../src/kernel/json.ts'
import { useAct } from '../parts/act.tsx'
import { Link } from '../parts/link.tsx'
import { type Answering, answer, Refused } from './answering.tsx'

const fallback = ''

/** The questions of a plan, answered together. */
export function QuestionPack({ asked, isOpen, isInert, done }: Answering) {
  const pack = packOf(asked.request)
  const [chosen, setChosen] = useState<Readonly<Record<string, string>>>({})
  const { isBusy, problem, run } = useAct()
  if (pack === undefined) return null
  const { question_budget, budget_remaining } = pack.policy_constraints
  // A question without a choice must not block the plan.
  const isOpenStill = pack.questions.some((one) => chosenOf(one, chosen) === undefined)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void run(() => answer(asked.interaction_id, answersTo(pack, chosen)), done)
      }}
    >
      <p className="faint">
        Round {pack.round} · {budget_remaining} of {question_budget} questions left
        {asked.coordination_id != null && (
          <>
            {' · '}
            <Link href={`/p/${asked.coordination_id}`}>the plan</Link>
          </>
        )}
      </p>
      {pack.questions.map((question) => (
        <Choice
          key={question.question_id}
          question={question}
          isOpen={isOpen}
          chosen={chosenOf(question, chosen)}
          choose={(value) => setChosen({ ...chosen, [question.question_id]: value })}
        />
      ))}
      <Refused problem={problem} done={done} />
      {isOpen && (
        <button type="submit" className="primary" disabled={isInert || isBusy || isOpenStill}>
          Send the answers
        </button>
      )}
    </form>
  )
}

interface Shown {
  readonly question: Question
  readonly isOpen: boolean
  readonly chosen: string | undefined
  readonly choose: (value: string) => void
}

function Choice({ question, isOpen, chosen, choose }: Shown) {
  const { question_id, type, blocking_level, question_text, context, suggested_answers, default_strategy, impact } =
    question
  return (
    <fieldset className="field" disabled={!isOpen}>
      <legend>
        {question_text} <span className="chip">{blocking_level}</span> <span className="chip">{type}</span>
      </legend>
      <p className="faint">{context}</p>
      {suggested_answers.map(({ value, answer_text, rationale }) => (
        <label key={value} className="choice">
          <input type="radio" name={question_id} checked={chosen === value} onChange={() => choose(value)} />{' '}
          {answer_text} <span className="faint">{rationale}</span>
        </label>
      ))}
      <label className="choice">
        <input type="radio" name={question_id} checked={chosen === fallback} onChange={() => choose(fallback)} /> Leave
        it to the default ({default_strategy.action === 'use' ? default_strategy.value : 'the plan is blocked'}){' '}
        <span className="faint">{default_strategy.explanation}</span>
      </label>
      <p className="faint">
        Touches: {impact.description} Evidence: {question.evidence_refs.join(', ') || 'none'}
      </p>
    </fieldset>
  )
}

/** The choice; without one the default, unless that would block the plan. */
function chosenOf({ question_id, default_strategy }: Question, chosen: Readonly<Record<string, string>>) {
  return chosen[question_id] ?? (default_strategy.action === 'use' ? fallback : undefined)
}

function packOf(request: JsonObject): Pack | undefined {
  const pack: unknown = request.question_pack ?? request
  return isPack(pack) ? pack : undefined
}

/** The server checked the pack against its schema; here it is only told from other requests. */
function isPack(given: unknown): given is Pack {
  return typeof given === 'object' && given !== null && 'questions' in given && Array.isArray(given.questions)
}

/** One answer for each question: the one that was chosen, or the default. The same choice has the same name. */
function answersTo(pack: Pack, chosen: Readonly<Record<string, string>>): JsonObject {
  return {
    pack_id: `apack_${pack.pack_id.slice('qpack_'.length)}_console`,
    schema_version: '1.0.0',
    question_pack_id: pack.pack_id,
    answers: pack.questions.map(({ question_id }) => {
      const value = chosen[question_id] ?? fallback
      return value === fallback
        ? { question_id, answer_type: 'fallback', provided_by: 'human' }
        : { question_id, answer_type: 'choice', value, provided_by: 'human' }
    }),
  }
}
