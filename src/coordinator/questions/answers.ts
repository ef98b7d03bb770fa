import type { Json } from '../../kernel/json.ts'
import type { AcceptedAnswer } from '../progress.ts'
import { executionPayloads } from '../red-lines.ts'
import { type AnswerPack, answerPack } from '../schemas/answer-pack.ts'
import { type Problem, problemsOf } from '../schemas/problem.ts'
import type { Question, QuestionPack } from '../schemas/question-pack.ts'

export type ReadAnswers =
  | { readonly taken: true; readonly pack: AnswerPack; readonly answers: readonly AcceptedAnswer[] }
  | { readonly taken: false; readonly problems: readonly Problem[] }

/** Reads a pack of answers against the questions it answers. A pack is taken whole or refused with every problem named. */
export function readAnswers(raw: Json, asked: QuestionPack): ReadAnswers {
  const payloads = executionPayloads(raw)
  const parsed = answerPack.safeParse(raw)
  if (!parsed.success)
    return { taken: false, problems: [...payloads, ...problemsOf(parsed.error, 'answer_pack_invalid')] }
  const pack = parsed.data
  const problems = [...payloads, ...strayAnswers(pack, asked)]
  const answers = asked.questions.flatMap((question) => {
    const read = readOne(question, pack)
    if ('problem' in read) problems.push(read.problem)
    return 'answer' in read ? [read.answer] : []
  })
  return problems.length > 0 ? { taken: false, problems } : { taken: true, pack, answers }
}

/** What stands when time has run out: each question's default, or nothing where the default is to block. */
export function defaultAnswers(asked: QuestionPack): {
  answers: readonly AcceptedAnswer[]
  blocked: readonly Question[]
} {
  return {
    answers: asked.questions.flatMap((question) => fallbackOf(question) ?? []),
    blocked: asked.questions.filter((question) => fallbackOf(question) === null),
  }
}

function readOne(question: Question, pack: AnswerPack): { answer: AcceptedAnswer } | { problem: Problem } {
  const { question_id, key, suggested_answers } = question
  const values = suggested_answers.map(({ value }) => value)
  const wrong = (code: string, message: string) => ({ problem: { code, message, refs: [question_id] } })
  const given = pack.answers.find((answer) => answer.question_id === question_id)
  if (given === undefined && question.blocking_level === 'critical')
    return wrong(
      'critical_question_unanswered',
      `The critical question ${question_id} (${key}) has no answer; it takes ${values.join(', ')}.`,
    )
  if (given === undefined || given.answer_type === 'fallback') {
    const fallback = fallbackOf(question)
    return fallback === null
      ? wrong(
          'question_without_fallback',
          `${question_id} (${key}) has no default to fall back to; answer it with ${values.join(', ')}.`,
        )
      : { answer: fallback }
  }
  if (given.value === undefined || !values.includes(given.value))
    return wrong(
      'answer_unknown',
      `${question_id} (${key}) takes ${values.join(', ')}, not ${given.value ?? 'nothing'}.`,
    )
  return { answer: { question_id, key, value: given.value, provided_by: given.provided_by } }
}

function fallbackOf({ question_id, key, default_strategy }: Question): AcceptedAnswer | null {
  if (default_strategy.action === 'block') return null
  return { question_id, key, value: default_strategy.value, provided_by: 'fallback' }
}

function strayAnswers(pack: AnswerPack, asked: QuestionPack): Problem[] {
  const known = asked.questions.map(({ question_id }) => question_id)
  const ids = pack.answers.map(({ question_id }) => question_id)
  const problems: Problem[] = []
  if (pack.question_pack_id !== asked.pack_id)
    problems.push({
      code: 'answer_pack_stale',
      message: `The answers are for ${pack.question_pack_id}; what is asked now is ${asked.pack_id}.`,
      path: 'question_pack_id',
    })
  ids.forEach((id, i) => {
    if (!known.includes(id))
      problems.push({ code: 'answer_unasked', message: `${id} is not asked.`, path: `answers[${i}].question_id` })
    if (ids.indexOf(id) < i)
      problems.push({ code: 'answer_repeated', message: `${id} is answered twice.`, path: `answers[${i}].question_id` })
  })
  return problems
}
