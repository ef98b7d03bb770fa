import type { PlanQuestionsCard } from '../../src/wire/plan.ts'
import { planEndpoints } from '../../src/wire/plan.ts'
import { ask } from '../api/request.ts'
import { Empty } from '../parts/states.tsx'
import { useAsked } from '../use-asked.ts'

/** Every question that was asked, with its default and what it touches. */
export function QuestionsTab({ coordination_id, version }: { coordination_id: string; version: string }) {
  const { value } = useAsked(`questions ${coordination_id} ${version}`, (signal) =>
    ask(planEndpoints.getPlanQuestions, { params: { coordination_id } }, signal),
  )
  const rounds = value?.rounds ?? []
  if (rounds.length === 0)
    return (
      <Empty title="Nothing was asked.">
        <p>Either nothing was uncertain, or the policy allows no questions.</p>
      </Empty>
    )
  return rounds.map(({ question_pack: pack, answer_pack }) => (
    <section key={pack.pack_id}>
      <h3>Round {pack.round}</h3>
      <div className="scroll">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Question</th>
              <th scope="col">Level</th>
              <th scope="col">Answers</th>
              <th scope="col">Without an answer</th>
              <th scope="col">Answered</th>
              <th scope="col">Touches</th>
            </tr>
          </thead>
          <tbody>
            {pack.questions.map((one) => (
              <tr key={one.question_id}>
                <td>
                  {one.question_text} <span className="faint">{one.context}</span>
                </td>
                <td>
                  {one.blocking_level} {one.type}
                </td>
                <td>{one.suggested_answers.map(({ answer_text }) => answer_text).join(' / ')}</td>
                <td>{one.default_strategy.action === 'use' ? one.default_strategy.value : 'the plan is blocked'}</td>
                <td>{answerTo(one.question_id, answer_pack)}</td>
                <td>{one.impact.affected_steps.join(', ')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  ))
}

function answerTo(question_id: string, pack: PlanQuestionsCard['rounds'][number]['answer_pack']): string {
  const answer = pack?.answers.find((one) => one.question_id === question_id)
  if (answer === undefined) return 'not yet'
  switch (answer.answer_type) {
    case 'choice':
      return answer.value ?? ''
    case 'text':
      return answer.answer_text
    case 'structured':
      return JSON.stringify(answer.answer_data)
    case 'fallback':
      return 'left to the default'
  }
}
