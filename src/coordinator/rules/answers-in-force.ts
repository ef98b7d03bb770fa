import { boundedJsonIn, jsonLimits } from '../../kernel/bounded-json.ts'
import { isRecord } from '../checksum.ts'
import type { AcceptedAnswer } from '../progress.ts'
import type { Question } from '../schemas/question-pack.ts'

/** An answer that shapes the plan, with the question it settles. */
export interface Settled {
  readonly question: Question
  readonly answer_type: AcceptedAnswer['answer_type']
  readonly value: string
  readonly provided_by: AcceptedAnswer['provided_by']
}

/** What the rules see of the answers: those that bear on this step. */
export function answersFor(step_id: string, settled: readonly Settled[]): string[] {
  return settled
    .filter(({ question }) => bearsOn(question, step_id))
    .flatMap(said)
    .sort()
}

/** Of data, the members that are no lists or objects as well, each as `key.member=value`. */
function said({ question: { key }, answer_type, value }: Settled): string[] {
  const read = answer_type === 'structured' ? boundedJsonIn(value, jsonLimits.arguments) : { value: null }
  const data = 'value' in read && isRecord(read.value) ? read.value : {}
  const members = Object.entries(data).filter(([, member]) => typeof member !== 'object')
  return [`${key}=${value}`, ...members.map(([name, member]) => `${key}.${name}=${member}`)]
}

export function bearsOn(question: Question, step_id: string): boolean {
  return question.impact.affected_steps.includes(step_id)
}

/** What an answer does to the plan, if its author said so. */
export function effectOf({ question, value }: Settled) {
  return question.suggested_answers.find((answer) => answer.value === value)?.effect ?? {}
}
