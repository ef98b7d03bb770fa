import type { Sha256 } from '../../kernel/digest.ts'
import { asJson, type Json } from '../../kernel/json.ts'
import { checksumOf, isRecord } from '../checksum.ts'
import type { AnswerRound } from '../progress.ts'
import type { Answer, AnswerPack, QuestionPack } from '../schemas/questions.ts'

/** By key or id of a question: the value that is chosen, an answer in words, or one as data. */
export type Choices = Readonly<Record<string, Choice>>
type Choice = string | { readonly text: string } | { readonly data: Json }

/** The answer pack that says this. What is asked and not named is left to its default; what is not asked stays in, to be refused. */
export function answersFrom({ pack_id, questions }: QuestionPack, choices: Choices, sha256: Sha256): AnswerPack {
  const chosen = new Map(Object.entries(choices))
  const answers = questions.flatMap(({ question_id, key }) => {
    const isAlone = questions.every((other) => other.key !== key || other.question_id === question_id)
    const [byId, byKey] = [chosen.get(question_id), chosen.get(key)]
    // Several questions may share a key, and then an id says more. One that is named both ways is answered twice.
    const choices = byId !== undefined && !isAlone ? [byId] : [byId, byKey]
    return choices.flatMap((choice) => (choice === undefined ? [] : [answerOf(question_id, choice)]))
  })
  const known = new Set(questions.flatMap(({ question_id, key }) => [question_id, key]))
  const stray = [...chosen].filter(([name]) => !known.has(name))
  return {
    pack_id: `apack_${checksumOf([pack_id, choices], sha256).slice(0, 16)}`,
    schema_version: '1.0.0',
    question_pack_id: pack_id,
    answers: [...answers, ...stray.map(([name, choice]) => answerOf(name, choice))],
  }
}

function answerOf(question_id: string, choice: Choice): Answer {
  const about = { question_id, provided_by: 'human' as const }
  if (typeof choice === 'string') return { ...about, answer_type: 'choice', value: choice }
  return 'text' in choice
    ? { ...about, answer_type: 'text', answer_text: choice.text }
    : { ...about, answer_type: 'structured', answer_data: choice.data }
}

/** What a file says about one round: an answer pack as it is, that time ran out, or answers by key. */
export function readRound(round: Json, asked: QuestionPack, sha256: Sha256): AnswerRound {
  if (!isRecord(round) || 'question_pack_id' in round) return { answer_pack: round }
  if (round.timed_out === true) return { timed_out: true }
  return { answer_pack: asJson(answersFrom(asked, choicesIn(round), sha256)) }
}

/** Answers as they stand in a file. `{ text: … }` is an answer in words, `{ data: … }` one as data; the rest are choices. */
export function choicesIn(map: Readonly<Record<string, Json>>): Choices {
  return Object.fromEntries(
    Object.entries(map).map(([key, value]): [string, Choice] => {
      if (isRecord(value) && typeof value.text === 'string') return [key, { text: value.text }]
      if (isRecord(value) && value.data !== undefined) return [key, { data: value.data }]
      return [key, typeof value === 'object' && value !== null ? { data: value } : String(value)]
    }),
  )
}
