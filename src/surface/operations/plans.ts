import type { PlanDocuments, PlanView } from '../../autonomy/plans/plans.ts'
import type { RiskAssessment, RuleDecisions } from '../../coordinator/schemas/judgement.ts'
import type { ExecutionGraph, ReviewPack } from '../../coordinator/schemas/plan.ts'
import type { AnswerPack, QuestionPack } from '../../coordinator/schemas/questions.ts'
import type { RunTape } from '../../coordinator/schemas/record.ts'
import { faults } from '../../faults/catalogue.ts'
import { hashedId } from '../../kernel/digest.ts'
import { asOptions, withoutUndefined } from '../../runtime/options.ts'
import { type PlanCard, type PlanQuestionsCard, planEndpoints } from '../../wire/plan.ts'
import type { Backend, SurfacePlans } from '../backend.ts'
import { cursorAt, defineOperation, readCursor, requestKey } from '../operation.ts'

/** Lists plans. */
export const listPlans = defineOperation({
  ...planEndpoints.listPlans,
  summary: 'Plans, the one that moved last first.',
  async run(backend, { query: { limit, cursor, state } }) {
    const after = readCursor('list_plans', cursor)
    const rows = await (await backend.plans()).list(withoutUndefined({ limit: limit + 1, state, after }))
    const items = rows.slice(0, limit)
    const last = items.at(-1)
    const next_cursor =
      rows.length > limit && last !== undefined ? cursorAt({ sort: last.updated_at, key: last.coordination_id }) : null
    return { items, next_cursor }
  },
})

/** Reads where a plan stands. */
export const getPlan = defineOperation({
  ...planEndpoints.getPlan,
  summary: 'The state of a plan: every move with its guards, its open questions, the reason of a failure.',
  run: onPlan(async (plans, coordination_id) => planCard(await plans.show(coordination_id))),
})

/** Reads the graph of a plan. */
export const getPlanGraph = defineOperation({
  ...planEndpoints.getPlanGraph,
  summary: 'The graph of a plan: the last draft, with questions in it, or the final one.',
  async run(backend, { params: { coordination_id }, query: { version } }): Promise<ExecutionGraph> {
    const documents = await (await backend.plans()).documents(coordination_id)
    const graph = version === 'final' ? documents.execution_graph : numbered(documents, 'execution_graph_draft').at(-1)
    if (graph === undefined) throw faults.not_found({ what: `${version} graph of`, id: coordination_id })
    return graph as ExecutionGraph
  },
})

/** Reads the verdicts of the rules on a plan. */
export const getPlanRules = defineOperation({
  ...planEndpoints.getPlanRules,
  summary: 'The verdict on every command, each rule that fired and why, and the risk that follows.',
  run: onPlan(async (plans, coordination_id) => {
    const documents = await plans.documents(coordination_id)
    return {
      rounds: numbered(documents, 'rule_decisions') as RuleDecisions[],
      risk: numbered(documents, 'risk_assessment') as RiskAssessment[],
    }
  }),
})

/** Reads the questions of a plan. */
export const getPlanQuestions = defineOperation({
  ...planEndpoints.getPlanQuestions,
  summary: 'The open questions of a plan, and earlier ones with their answers.',
  run: onPlan(async (plans, coordination_id): Promise<PlanQuestionsCard> => {
    const { waits_for } = await plans.show(coordination_id)
    const documents = await plans.documents(coordination_id)
    const answers = numbered(documents, 'answer_pack') as AnswerPack[]
    const rounds = (numbered(documents, 'question_pack') as QuestionPack[]).map((question_pack) => ({
      question_pack,
      answer_pack: answers.find(({ question_pack_id }) => question_pack_id === question_pack.pack_id) ?? null,
    }))
    return { waits_for, rounds }
  }),
})

/** Reads the review pack of a plan. */
export const getPlanReviewPack = defineOperation({
  ...planEndpoints.getPlanReviewPack,
  summary: 'The review pack of a plan: impact, risk, gates, and how to undo it.',
  run: onPlan((plans, id) => documentOf<ReviewPack>(plans, id, 'review_pack', 'review pack of')),
})

/** Reads the replay record of a plan. */
export const getPlanTape = defineOperation({
  ...planEndpoints.getPlanTape,
  summary: 'The replay record: each state, the guards of the move out of it, every evaluation, the outputs.',
  run: onPlan((plans, id) => documentOf<RunTape>(plans, id, 'run_tape', 'tape of')),
})

/** Reads the frozen files of a plan. */
export const getPlanOutputs = defineOperation({
  ...planEndpoints.getPlanOutputs,
  summary: 'The frozen files of a plan, each by its checksum; none before it has ended.',
  run: onPlan(async (plans, coordination_id) => {
    const { files } = await plans.show(coordination_id)
    return { files: files.map(({ name, ref }) => ({ name, ref, sha256: ref.replace(/^blob_/, '') })) }
  }),
})

/** Verifies the files of a plan. */
export const verifyPlan = defineOperation({
  ...planEndpoints.verifyPlan,
  summary: 'Prove that no byte of the files of a plan was changed.',
  run: onPlan(async (plans, coordination_id) => {
    const problems = await plans.verify(coordination_id)
    return { is_sound: problems.length === 0, problems }
  }),
})

/** Answers about the plan that the path names. */
function onPlan<R>(answer: (plans: SurfacePlans, coordination_id: string) => Promise<R>) {
  return async (backend: Backend, { params }: { readonly params: { readonly coordination_id: string } }) =>
    answer(await backend.plans(), params.coordination_id)
}

async function documentOf<T>(plans: SurfacePlans, id: string, name: string, what: string): Promise<T> {
  const { [name]: found } = await plans.documents(id)
  if (found === undefined) throw faults.not_found({ what, id })
  return found as T
}

/** The output of each round, in order. */
function numbered(documents: PlanDocuments, name: string): unknown[] {
  const found: unknown[] = []
  for (let n = 1; documents[`${name}_${n}`] !== undefined; n++) found.push(documents[`${name}_${n}`])
  return found
}

/** A plan as it is shown: the registry and the files are asked for by themselves. */
function planCard({ input, files: _files, ...view }: PlanView): PlanCard {
  const moves = view.moves.map((move) => ({ ...move, guards: [...move.guards], outputs: [...move.outputs] }))
  return { ...view, moves, intent: input.intent ?? null, policy: input.policy ?? null }
}

/** Policy and registry belong to the operator; a submission cannot bring its own. */
export const submitPlan = defineOperation({
  ...planEndpoints.submitPlan,
  scope: 'operate',
  summary: 'Have an intent judged: a frozen plan, the reason why there is none, or questions. Nothing runs.',
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
  ...planEndpoints.answerPlan,
  scope: 'approve',
  summary: 'Answer the questions of a plan: with an answer pack, or with a value for each question.',
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
  repeat: onPlan(async (plans, coordination_id) => planCard(await plans.show(coordination_id))),
})
