import { z } from 'zod'
import type { PlanDocuments, PlanView } from '../../autonomy/plans/plans.ts'
import type { RiskAssessment, RuleDecisions } from '../../coordinator/schemas/judgement.ts'
import { type ExecutionGraph, executionGraph, type ReviewPack, reviewPack } from '../../coordinator/schemas/plan.ts'
import type { AnswerPack, QuestionPack } from '../../coordinator/schemas/questions.ts'
import { type RunTape, runTape } from '../../coordinator/schemas/record.ts'
import { faults } from '../../faults/catalogue.ts'
import { pageOf, pageQuery } from '../../wire/common.ts'
import {
  type PlanCard,
  type PlanQuestionsCard,
  planFilesShape,
  planProofShape,
  planQuestionsShape,
  planRowShape,
  planRulesShape,
  planShape,
  planState,
} from '../../wire/plan.ts'
import { cursorAt, defineOperation, readCursor, withoutUndefined } from '../operation.ts'

/** Lists plans. */
export const listPlans = defineOperation({
  name: 'list_plans',
  route: 'GET /api/plans',
  scope: 'read',
  summary: 'Plans, the one that moved last first.',
  query: z.strictObject({ ...pageQuery, state: planState.optional() }),
  returns: pageOf(planRowShape),
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
  name: 'get_plan',
  route: 'GET /api/plans/{coordination_id}',
  scope: 'read',
  summary: 'Where a plan stands: every move with its guards, what it waits for, why there is none.',
  returns: planShape,
  run: async (backend, { params: { coordination_id } }) =>
    planCard(await (await backend.plans()).show(coordination_id)),
})

/** Reads the graph of a plan. */
export const getPlanGraph = defineOperation({
  name: 'get_plan_graph',
  route: 'GET /api/plans/{coordination_id}/graph',
  scope: 'read',
  summary: 'The graph of a plan: the last draft, with questions in it, or the final one.',
  query: z.strictObject({ version: z.enum(['draft', 'final']).default('final') }),
  returns: executionGraph,
  async run(backend, { params: { coordination_id }, query: { version } }): Promise<ExecutionGraph> {
    const documents = await (await backend.plans()).documents(coordination_id)
    const graph = version === 'final' ? documents.execution_graph : numbered(documents, 'execution_graph_draft').at(-1)
    if (graph === undefined) throw faults.not_found({ what: `${version} graph of`, id: coordination_id })
    return graph as ExecutionGraph
  },
})

/** Reads the verdicts of the rules on a plan. */
export const getPlanRules = defineOperation({
  name: 'get_plan_rules',
  route: 'GET /api/plans/{coordination_id}/rules',
  scope: 'read',
  summary: 'The verdict on every command, each rule that spoke and why, and the risk that follows.',
  returns: planRulesShape,
  async run(backend, { params: { coordination_id } }) {
    const documents = await (await backend.plans()).documents(coordination_id)
    return {
      rounds: numbered(documents, 'rule_decisions') as RuleDecisions[],
      risk: numbered(documents, 'risk_assessment') as RiskAssessment[],
    }
  },
})

/** Reads the questions of a plan. */
export const getPlanQuestions = defineOperation({
  name: 'get_plan_questions',
  route: 'GET /api/plans/{coordination_id}/questions',
  scope: 'read',
  summary: 'What a plan asks now, and what it asked and was answered before.',
  returns: planQuestionsShape,
  async run(backend, { params: { coordination_id } }): Promise<PlanQuestionsCard> {
    const plans = await backend.plans()
    const { waits_for } = await plans.show(coordination_id)
    const documents = await plans.documents(coordination_id)
    const answers = numbered(documents, 'answer_pack') as AnswerPack[]
    const rounds = (numbered(documents, 'question_pack') as QuestionPack[]).map((question_pack) => ({
      question_pack,
      answer_pack: answers.find(({ question_pack_id }) => question_pack_id === question_pack.pack_id) ?? null,
    }))
    return { waits_for, rounds }
  },
})

/** Reads the review pack of a plan. */
export const getPlanReviewPack = defineOperation({
  name: 'get_plan_review_pack',
  route: 'GET /api/plans/{coordination_id}/review-pack',
  scope: 'read',
  summary: 'A plan written up for those who review it: impact, risk, gates, and how to undo it.',
  returns: reviewPack,
  async run(backend, { params: { coordination_id } }): Promise<ReviewPack> {
    const { review_pack } = await (await backend.plans()).documents(coordination_id)
    if (review_pack === undefined) throw faults.not_found({ what: 'review pack of', id: coordination_id })
    return review_pack as ReviewPack
  },
})

/** Reads the replay record of a plan. */
export const getPlanTape = defineOperation({
  name: 'get_plan_tape',
  route: 'GET /api/plans/{coordination_id}/tape',
  scope: 'read',
  summary: 'The replay record: each state, the guards that let it be left, every evaluation, what came out.',
  returns: runTape,
  async run(backend, { params: { coordination_id } }): Promise<RunTape> {
    const { run_tape } = await (await backend.plans()).documents(coordination_id)
    if (run_tape === undefined) throw faults.not_found({ what: 'tape of', id: coordination_id })
    return run_tape as RunTape
  },
})

/** Reads the frozen files of a plan. */
export const getPlanOutputs = defineOperation({
  name: 'get_plan_outputs',
  route: 'GET /api/plans/{coordination_id}/outputs',
  scope: 'read',
  summary: 'The frozen files of a plan, each by its checksum; none before it has ended.',
  returns: planFilesShape,
  async run(backend, { params: { coordination_id } }) {
    const { files } = await (await backend.plans()).show(coordination_id)
    return { files: files.map(({ name, ref }) => ({ name, ref, sha256: ref.replace(/^blob_/, '') })) }
  },
})

/** Verifies the files of a plan. */
export const verifyPlan = defineOperation({
  name: 'verify_plan',
  route: 'GET /api/plans/{coordination_id}/verify',
  scope: 'read',
  summary: 'Prove that no byte of what a plan left behind was changed.',
  returns: planProofShape,
  async run(backend, { params: { coordination_id } }) {
    const problems = await (await backend.plans()).verify(coordination_id)
    return { is_sound: problems.length === 0, problems }
  },
})

/** What each round made, in order. */
function numbered(documents: PlanDocuments, name: string): unknown[] {
  const found: unknown[] = []
  for (let n = 1; documents[`${name}_${n}`] !== undefined; n++) found.push(documents[`${name}_${n}`])
  return found
}

/** A plan as it is shown: the registry and the files are asked for by themselves. */
export function planCard({ input, files: _files, ...view }: PlanView): PlanCard {
  const moves = view.moves.map((move) => ({ ...move, guards: [...move.guards], outputs: [...move.outputs] }))
  return { ...view, moves, intent: input.intent ?? null, policy: input.policy ?? null }
}
