import { describe, expect, test } from 'vitest'
import { begin } from '../../src/coordinator/engine.ts'
import { answersFrom, readRound } from '../../src/coordinator/questions/answers.ts'
import { answersFor } from '../../src/coordinator/rules/adjudicate.ts'
import type { Question } from '../../src/coordinator/schemas/questions.ts'
import type { Json } from '../../src/kernel/json.ts'
import {
  answering,
  inputOf,
  intentOf,
  openQuestion,
  plan,
  policyWith,
  ports,
  rule,
  rulesOnly,
} from '../support/coordinator.ts'
import { asking, whereTo } from '../support/plans.ts'

const intent = intentOf((i) => ({ ...i, open_questions: [whereTo] }))
const asked = plan({ intent }).waits_for

/** The round with one answer to the question. */
function saying(answer: Json): { answer_pack: Json } {
  const { answer_pack } = answering(asked, { target: 'staging' }) as { answer_pack: { answers: Json[] } }
  const [{ question_id }] = answer_pack.answers as [{ question_id: string }]
  const said = { question_id, provided_by: 'human', ...(answer as object) }
  return { answer_pack: { ...answer_pack, answers: [said] } as Json }
}
const inWords = (answer_text: string) => saying({ answer_type: 'text', answer_text })
const asData = (answer_data: Json) => saying({ answer_type: 'structured', answer_data })

describe('F-51 answers', () => {
  test('F-51 answers: an answer in words is taken, is in the plan, and has the steps reviewed that it bears on', () => {
    const { state, artifacts } = plan({ intent }, [inWords('Wherever it is quiet on Sunday.')])
    expect(state).toBe('DONE')
    expect(artifacts.execution_graph?.applied_answers).toMatchObject([
      {
        key: 'target',
        answer_type: 'text',
        value: 'Wherever it is quiet on Sunday.',
        provided_by: 'human',
        changed: ['cmd_scan is reviewed first'],
      },
    ])
    expect(artifacts.review_pack?.review_gates).toContainEqual({
      node_id: 'node_gate_002',
      category: null,
      step_id: 'cmd_scan',
      criteria: ['target is answered with Wherever it is quiet on Sunday.: does the plan say the same?'],
    })
    expect(artifacts.run_summary?.answers_applied).toBe(1)
  })

  test.each([' ', '\n\t', '\u200b\u2060', '\u3164'])(
    'answers: the text %j shows nothing, and answers nothing',
    (blank) => {
      const { state, artifacts } = plan({ intent }, [inWords(blank)])
      expect(state).not.toBe('DONE')
      expect(JSON.stringify(artifacts)).not.toContain('does the plan say the same')
    },
  )

  test('F-51 answers: an answer as data is taken, in its canonical text', () => {
    const { state, artifacts } = plan({ intent }, [asData({ region: 'eu', count: 2 })])
    expect(state).toBe('DONE')
    expect(artifacts.execution_graph?.applied_answers).toMatchObject([
      { answer_type: 'structured', value: '{"count":2,"region":"eu"}' },
    ])
  })

  test('F-51 answers: rules see words and members of data', () => {
    const denying = (answer: string) =>
      rulesOnly(
        rule('rule_ok', 'allow', 'context.risk >= 0'),
        rule('rule_no', 'deny', `context.answers.contains("${answer}")`),
      )
    const denied = (answer: string, round: { answer_pack: Json }) => {
      const registry = denying(answer)
      const { waits_for } = plan({ intent, registry })
      const said = round.answer_pack as { answers: { question_id: string }[] }
      const pack = { ...said, question_pack_id: waits_for?.pack_id ?? '' }
      const answers = pack.answers.map((one) => ({ ...one, question_id: waits_for?.questions[0]?.question_id ?? '' }))
      return plan({ intent, registry }, [{ answer_pack: { ...pack, answers } as Json }]).artifacts.question_pack.length
    }
    expect(denied('target=on Sunday', inWords('on Sunday'))).toBe(2)
    expect(denied('target.region=eu', asData({ region: 'eu', deep: { region: 'us' } }))).toBe(2)
    expect(denied('target.region=us', asData({ region: 'eu', deep: { region: 'us' } }))).toBe(1)
  })

  test('F-51 answers: words that are a suggested answer choose it, so no rule is talked around', () => {
    for (const words of ['production', ' Production. ', 'PRODUCTION', 'рroduction']) {
      const input = asking(whereTo)
      const { waits_for } = plan(input)
      const pack = answersFrom(waits_for as never, { target: { text: words } }, ports.sha256)
      const { artifacts } = plan(input, [{ answer_pack: pack as unknown as Json }])
      // The rules deny production, so it asks again.
      expect(artifacts.question_pack, words).toHaveLength(2)
    }
  })

  test('F-51 answers: an answer without its content, too long, or with something to execute is refused by name', () => {
    const problem = (round: { answer_pack: Json }) => plan({ intent }, [round]).refused_answers[0]?.problems[0]
    expect(problem(saying({ answer_type: 'text' }))).toMatchObject({ path: 'answers[0].answer_text' })
    expect(problem(saying({ answer_type: 'structured' }))).toMatchObject({ path: 'answers[0].answer_data' })
    expect(problem(saying({ answer_type: 'song', value: 'x' }))).toMatchObject({ path: 'answers[0].answer_type' })
    expect(problem(asData({ long: 'x'.repeat(4000) }))).toMatchObject({ code: 'answer_too_long' })
    expect(problem(asData({ shell: 'ls' }))).toMatchObject({ code: 'execution_payload' })
  })

  test('answers: a pack with data nested deeper than 64 levels, or with a __proto__, is refused and says where', () => {
    // The data of an answer is on the fourth level of its pack.
    const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as Json
    const refusal = (data: Json) => {
      const { state, refused_answers } = plan({ intent }, [asData(data)])
      return [state, ...(refused_answers[0]?.problems ?? [])]
    }
    expect(refusal(nested(61))).toEqual(['DONE'])
    for (const depth of [62, 200])
      expect(refusal(nested(depth))).toMatchObject([
        'AWAITING_ANSWERS',
        { code: 'answer_pack_invalid', message: expect.stringMatching(/\$\.answers\[0\].* deeper than 64 levels/) },
      ])
    expect(refusal(JSON.parse('{"a":{"__proto__":{"region":"eu"}}}') as Json)).toMatchObject([
      'AWAITING_ANSWERS',
      {
        code: 'answer_pack_invalid',
        message: expect.stringContaining('$.answers[0].answer_data.a has a member called'),
      },
    ])
  })

  test('answers: a recorded text that is no bounded JSON has no members for rules to see, and stops nothing', () => {
    const question = asked?.questions[0] as Question
    const step = question.impact.affected_steps[0] ?? ''
    const seen = (value: string) =>
      answersFor(step, [{ question, answer_type: 'structured', value, provided_by: 'human' }])
    expect(seen('{"region":"eu"}')).toEqual(['target.region=eu', 'target={"region":"eu"}'])
    for (const value of ['{', '{"a":"\\ud800"}', `{"a":${'['.repeat(100)}${']'.repeat(100)}}`, '{"a":1e999}'])
      expect(seen(value)).toEqual([`target=${value}`])
  })

  test('F-51 answers: a file may have choices, words and data by key', () => {
    const pack = asked as never
    const typeOf = (value: Json) =>
      (readRound({ target: value }, pack, ports.sha256) as { answer_pack: { answers: { answer_type: string }[] } })
        .answer_pack.answers[0]?.answer_type
    expect(['staging', true, { text: 'soon' }, { data: [1] }, { any: 'thing' }].map((v) => typeOf(v as Json))).toEqual([
      'choice',
      'choice',
      'text',
      'structured',
      'structured',
    ])
  })
})

describe('F-51 times', () => {
  const stateAt = (created_at: string) => plan({ intent: intentOf((i) => ({ ...i, created_at })) }).state
  test.each([
    '2026-01-25T12:00:00Z',
    '2026-01-25T14:00:00+02:00',
    '2026-01-25T07:30:00.123-05:30',
    '2026-01-25T12:00:00-00:00',
    '2024-02-29t12:00:00z',
    '1990-12-31T23:59:60Z',
  ])('F-51 times: %s is a time of RFC 3339 and is taken', (time) => {
    expect(stateAt(time)).toBe('DONE')
  })
  test.each([
    '2026-01-25',
    '2026-02-29T12:00:00Z',
    '2026-01-25T12:00:00',
    '2026-13-01T00:00:00Z',
    '2026-01-25T24:00:00Z',
    '2026-01-25T12:00:00+0200',
    'now',
  ])('F-51 times: %s is refused with an example', (time) => {
    const { artifacts } = plan({ intent: intentOf((i) => ({ ...i, created_at: time })) })
    expect(artifacts.failure_pack?.problems[0]).toMatchObject({
      path: 'created_at',
      message: expect.stringContaining('2026-01-25T14:00:00+02:00'),
    })
  })
})

test('F-51 input: half of a surrogate pair, in any part of the input, is refused by the name of that part', () => {
  const half = { note: '\ud800' }
  const refused = (what: string) =>
    expect.objectContaining({
      code: 'not_plain_json',
      message: expect.stringMatching(new RegExp(`^The ${what} cannot be given a checksum: .*surrogate`)),
    })
  for (const [part, value, what] of [
    ['intent', { ...(intentOf() as object), metadata: half }, 'intent'],
    ['policy', policyWith({ metadata: half }), 'policy'],
    ['memory', half, 'memory pack'],
    ['facts', half, 'fact pack'],
  ] as const)
    expect(() => begin(inputOf({ [part]: value }), ports)).toThrow(refused(what))
  expect(() =>
    plan({ intent: intentOf((i) => ({ ...i, open_questions: [openQuestion('which')] })) }, [{ answer_pack: half }]),
  ).toThrow(refused('answer pack'))
})
