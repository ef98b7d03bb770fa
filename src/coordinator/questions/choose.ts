import type { Sha256 } from '../../kernel/digest.ts'
import type { Json } from '../../kernel/json.ts'
import { checksumOf, isRecord } from '../checksum.ts'
import type { AnswerRound } from '../progress.ts'
import type { AnswerPack } from '../schemas/answer-pack.ts'
import type { QuestionPack } from '../schemas/question-pack.ts'

/** By key or id of a question, the value that is chosen. */
export type Choices = Readonly<Record<string, string>>

/** The answer pack that says this. What is asked and not named is left to its default; what is not asked stays in, to be refused. */
export function answersFrom({ pack_id, questions }: QuestionPack, choices: Choices, sha256: Sha256): AnswerPack {
  const chosen = new Map(Object.entries(choices))
  const answers = questions.flatMap(({ question_id, key }) => {
    const value = choices[question_id] ?? choices[key]
    chosen.delete(question_id)
    chosen.delete(key)
    return value === undefined ? [] : [choice(question_id, value)]
  })
  return {
    pack_id: `apack_${checksumOf([pack_id, choices], sha256).slice(0, 16)}`,
    schema_version: '1.0.0',
    question_pack_id: pack_id,
    answers: [...answers, ...[...chosen].map(([name, value]) => choice(name, value))],
  }
}

function choice(question_id: string, value: string): AnswerPack['answers'][number] {
  return { question_id, answer_type: 'choice', value, provided_by: 'human' }
}

/** What a file says about one round: an answer pack as it is, that nobody answered, or choices by key. */
export function readRound(round: Json, asked: QuestionPack, sha256: Sha256): AnswerRound {
  if (!isRecord(round) || 'question_pack_id' in round) return { answer_pack: round }
  if (round.timed_out === true) return { timed_out: true }
  const choices = Object.entries(round).map(([key, value]) => [key, String(value)] as const)
  return { answer_pack: answersFrom(asked, Object.fromEntries(choices), sha256) as unknown as Json }
}
