import type { Sha256 } from '../../kernel/digest.ts'
import { asJson, boundedJson, canonicalJson, type Json, jsonLimits } from '../../kernel/json.ts'
import { checksumOf, isRecord } from '../checksum.ts'
import { looksLike } from '../payload-keys.ts'
import type { AcceptedAnswer, AnswerRound } from '../progress.ts'
import { executionPayloads } from '../red-lines.ts'
import { type Answer, type AnswerPack, answerPack, type Question, type QuestionPack } from '../schemas/questions.ts'
import { type Problem, problemsOf } from '../schemas/scalars.ts'

type ReadAnswers =
  | { readonly taken: true; readonly pack: AnswerPack; readonly answers: readonly AcceptedAnswer[] }
  | { readonly taken: false; readonly problems: readonly Problem[] }

/** Reads an answer pack against the questions it answers. A pack is accepted whole or refused with all its problems. */
export function readAnswers(raw: Json, asked: QuestionPack): ReadAnswers {
  const read = boundedJson(raw, jsonLimits.arguments)
  if ('problem' in read)
    return { taken: false, problems: [{ code: 'answer_pack_invalid', message: `In the answer pack, ${read.problem}` }] }
  const payloads = executionPayloads(read.value)
  const parsed = answerPack.safeParse(read.value)
  if (!parsed.success) {
    // The form of an answer to a question that is not open does not matter.
    const strays = unaskedIn(idsIn(read.value), asked)
    const unread = problemsOf(parsed.error, 'answer_pack_invalid').filter(
      ({ path = '' }) => !strays.some(({ at }) => path.startsWith(`${at}.`)),
    )
    return { taken: false, problems: [...payloads, ...strays.map(({ problem }) => problem), ...unread] }
  }
  const pack = parsed.data
  const problems = [...payloads, ...strayAnswers(pack, asked), ...claims(pack)]
  const answers = asked.questions.flatMap((question) => {
    const read = readOne(question, pack)
    if ('problem' in read) problems.push(read.problem)
    return 'answer' in read ? [read.answer] : []
  })
  return problems.length > 0 ? { taken: false, problems } : { taken: true, pack, answers }
}

/** The answers of a timeout: each question's default. `blocked` are the questions whose default is to block. */
export function defaultAnswers({ questions }: QuestionPack) {
  return {
    answers: questions.flatMap((question) => fallbackOf(question) ?? []),
    blocked: questions.filter((question) => fallbackOf(question) === null),
  }
}

function readOne(question: Question, pack: AnswerPack): { answer: AcceptedAnswer } | { problem: Problem } {
  const { question_id, key, suggested_answers } = question
  const values = suggested_answers.map(({ value }) => value)
  const wrong = (code: string, message: string) => ({ problem: { code, message, refs: [question_id] } })
  const given = pack.answers.find((answer) => answer.question_id === question_id)
  const [name, takes] = [`${question_id} (${key})`, values.join(', ')]
  if (given === undefined && question.blocking_level === 'critical')
    return wrong('critical_question_unanswered', `The critical question ${name} has no answer; it takes ${takes}.`)
  if (given === undefined || given.answer_type === 'fallback') {
    const answer = fallbackOf(question)
    if (answer !== null) return { answer }
    return wrong('question_without_fallback', `${name} has no default to fall back to; answer it with ${takes}.`)
  }
  const { answer_type, value } = saidIn(given, question)
  if (value.length > longest)
    return wrong('answer_too_long', `${name} takes at most ${longest} characters, not ${value.length}.`)
  if (answer_type === 'choice' && !values.includes(value))
    return wrong('answer_unknown', `${name} takes ${takes}, not ${value || 'nothing'}.`)
  return { answer: { question_id, key, answer_type, value, provided_by: given.provided_by } }
}

const longest = 4000

/** The answer and its type. Text that equals a suggested answer counts as that choice, so that rules about it apply. */
function saidIn(given: Exclude<Answer, { answer_type: 'fallback' }>, { suggested_answers }: Question) {
  if (given.answer_type === 'choice') return { answer_type: 'choice' as const, value: given.value ?? '' }
  const { answer_type } = given
  const content = answer_type === 'text' ? given.answer_text : given.answer_data
  const form = typeof content === 'string' ? looksLike(content) : null
  const meant = suggested_answers.find(({ value, answer_text }) =>
    [value, answer_text].some((text) => looksLike(text) === form),
  )
  if (meant !== undefined) return { answer_type: 'choice' as const, value: meant.value }
  return { answer_type, value: answer_type === 'text' ? String(content) : canonicalJson(content) }
}

function fallbackOf({ question_id, key, default_strategy }: Question): AcceptedAnswer | null {
  if (default_strategy.action === 'block') return null
  return { question_id, key, answer_type: 'choice', value: default_strategy.value, provided_by: 'fallback' }
}

/** Problems of answers that claim to be a default: only the Coordinator applies defaults. */
function claims({ answers }: AnswerPack): Problem[] {
  return answers.flatMap(({ provided_by, answer_type, question_id }, i) => {
    if (provided_by === 'human' || (provided_by === 'fallback' && answer_type === 'fallback')) return []
    const message = `${question_id} says that it is provided by ${provided_by}, which only the Coordinator can say; say human, or leave the answer out and the default stands.`
    return [{ code: 'answer_claims_default', message, path: `answers[${i}].provided_by`, refs: [question_id] }]
  })
}

/** The question ids of a pack whose shape is not valid. */
function idsIn(raw: Json): readonly unknown[] {
  const { answers } = isRecord(raw) ? raw : {}
  return Array.isArray(answers) ? answers.map((answer) => (isRecord(answer) ? answer.question_id : undefined)) : []
}

/** Problems of answers to questions that are not open, each with its place in the pack. */
function unaskedIn(ids: readonly unknown[], { questions }: QuestionPack): { at: string; problem: Problem }[] {
  const known = questions.map(({ question_id }) => question_id)
  const open = questions.map(({ key, question_id }) => `${key} (${question_id})`).join(', ')
  return ids.flatMap((id, i) => {
    if (typeof id !== 'string' || known.includes(id)) return []
    const at = `answers[${i}]`
    const message = `There is no open question ${JSON.stringify(id.slice(0, 200))}; there is ${open}.`
    return [{ at, problem: { code: 'answer_unasked', message, path: `${at}.question_id` } }]
  })
}

function strayAnswers(pack: AnswerPack, asked: QuestionPack): Problem[] {
  const ids = pack.answers.map(({ question_id }) => question_id)
  const problems: Problem[] = []
  const stale = `The answers are for ${pack.question_pack_id}; what is asked now is ${asked.pack_id}.`
  if (pack.question_pack_id !== asked.pack_id)
    problems.push({ code: 'answer_pack_stale', message: stale, path: 'question_pack_id' })
  problems.push(...unaskedIn(ids, asked).map(({ problem }) => problem))
  ids.forEach((id, i) => {
    if (ids.indexOf(id) < i)
      problems.push({ code: 'answer_repeated', message: `${id} is answered twice.`, path: `answers[${i}].question_id` })
  })
  return problems
}

/** Answers by key or id of the question: a suggested value, a text, or data. */
export type Choices = Readonly<Record<string, Choice>>
/** The answer to one question. */
export type Choice = string | { readonly text: string } | { readonly data: Json }

/**
 * The answer pack of these choices. A question without a choice gets its default. A choice for an unknown question stays
 * in the pack, so that reading it refuses that question by name.
 */
export function answersFrom({ pack_id, questions }: QuestionPack, choices: Choices, sha256: Sha256): AnswerPack {
  const chosen = new Map(Object.entries(choices))
  const answers = questions.flatMap(({ question_id, key }) => {
    const isAlone = questions.every((other) => other.key !== key || other.question_id === question_id)
    const [byId, byKey] = [chosen.get(question_id), chosen.get(key)]
    // Where questions share a key, a choice by id wins. Elsewhere a choice by id and one by key count as two answers.
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

/** One round from a file: an answer pack, a timeout (`timed_out: true`), or answers by key. */
export function readRound(round: Json, asked: QuestionPack, sha256: Sha256): AnswerRound {
  if (!isRecord(round) || 'question_pack_id' in round) return { answer_pack: round }
  if (round.timed_out === true) return { timed_out: true }
  return { answer_pack: asJson(answersFrom(asked, choicesIn(round), sha256)) }
}

/** Choices from a file: `{ text: … }` is text; `{ data: … }`, another object or a list is data; a scalar is a choice. */
export function choicesIn(map: Readonly<Record<string, Json>>): Choices {
  return Object.fromEntries(
    Object.entries(map).map(([key, value]): [string, Choice] => {
      if (isRecord(value) && typeof value.text === 'string') return [key, { text: value.text }]
      if (isRecord(value) && value.data !== undefined) return [key, { data: value.data }]
      return [key, typeof value === 'object' && value !== null ? { data: value } : String(value)]
    }),
  )
}
