import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { hashedId } from '../../kernel/digest.ts'
import { jsonObject, jsonValue } from '../../runes/json-value.ts'
import { asOptions } from '../../runtime/options.ts'
import { id } from '../../wire/common.ts'
import { planShape } from '../../wire/plan.ts'
import { defineOperation, requestKey } from '../operation.ts'
import { planCard } from './plans.ts'

const choice = z.union([
  z.string().max(200),
  z.strictObject({ text: z.string().min(1).max(4000) }),
  z.strictObject({ data: jsonValue }),
])

/** Policy and registry belong to the operator; a submission cannot bring its own. */
export const submitPlan = defineOperation({
  name: 'submit_plan',
  route: 'POST /api/plans',
  scope: 'operate',
  summary: 'Have an intent judged: a frozen plan, the reason why there is none, or questions. Nothing runs.',
  body: z.strictObject({
    /** An intent that does not fit its schema is told every mistake. An empty checksum is filled in. */
    intent: jsonObject,
    /** What a scan of the project found. Without it there is no plan. */
    facts: jsonValue.optional(),
    /** Without it, nothing is remembered. */
    memory: jsonValue.optional(),
    session_id: id.optional(),
    answer_timeout_ms: z.int().min(1_000).max(31_536_000_000).optional(),
    /** The coordination that this one takes the place of. */
    recovers: id.optional(),
  }),
  returns: planShape,
  async run(backend, asked) {
    const plans = await backend.plans()
    const { recovers, ...submission } = asked.body
    const key = requestKey('submit_plan', asked)
    const given = asOptions({
      ...submission,
      recovers: recovers === undefined ? undefined : await plans.recovery(recovers),
      coordination_id: key === undefined ? undefined : hashedId('coord', [key], backend.sha256),
    })
    return planCard(await plans.submit(given))
  },
})

/** Answers the questions of a plan. */
export const answerPlan = defineOperation({
  name: 'answer_plan',
  route: 'POST /api/plans/{coordination_id}/answer',
  scope: 'approve',
  summary: 'Answer what a plan asks: with an answer pack, or by question the value that is chosen.',
  body: z.strictObject({
    answer_pack: jsonObject.optional(),
    /** By key or id of a question: one of its values, an answer in words, or one as data. What is not named is left to its default. */
    choices: z.record(z.string().max(200), choice).optional(),
    replied_by: z.string().trim().min(1).max(200).optional(),
  }),
  returns: planShape,
  async run(backend, asked) {
    const { coordination_id } = asked.params
    const { answer_pack, choices, replied_by = asked.by } = asked.body
    const plans = await backend.plans()
    if ((answer_pack === undefined) === (choices === undefined)) {
      const problem = 'Give an answer_pack or choices, one of the two.'
      throw faults.bad_request({ operation: 'answer_plan', problems: [{ in: 'body', pointer: '', problem }] })
    }
    const idempotency_key = requestKey('answer_plan', asked)
    const given = asOptions({ answer_pack, choices, replied_by, idempotency_key })
    return planCard(await plans.answer(coordination_id, given))
  },
  repeat: async (backend, { params }) => planCard(await (await backend.plans()).show(params.coordination_id)),
})
