import type { Handler, WaitingHandler, WorkingState } from '../handler.ts'
import { awaitingAnswers } from './awaiting-answers.ts'
import { contextBuilt } from './context-built.ts'
import { frozenOutputs } from './frozen-outputs.ts'
import { graphDrafted } from './graph-drafted.ts'
import { graphFinalized } from './graph-finalized.ts'
import { prechecked } from './prechecked.ts'
import { questionsEmitted } from './questions-emitted.ts'
import { received } from './received.ts'
import { reviewPackBuilt } from './review-pack-built.ts'
import { rulesEvaluated } from './rules-evaluated.ts'

/** Who does the work of each state. The compiler sees to it that none is missing. */
export const handlers: { readonly [S in WorkingState]: S extends 'AWAITING_ANSWERS' ? WaitingHandler : Handler } = {
  RECEIVED: received,
  PRECHECKED: prechecked,
  CONTEXT_BUILT: contextBuilt,
  RULES_EVALUATED: rulesEvaluated,
  GRAPH_DRAFTED: graphDrafted,
  QUESTIONS_EMITTED: questionsEmitted,
  AWAITING_ANSWERS: awaitingAnswers,
  GRAPH_FINALIZED: graphFinalized,
  REVIEW_PACK_BUILT: reviewPackBuilt,
  FROZEN_OUTPUTS: frozenOutputs,
}
