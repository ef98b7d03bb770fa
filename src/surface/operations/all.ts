import type { Operation } from '../operation.ts'
import { killAgent, listAgents, spawnAgent } from './agents.ts'
import { auditSession, signSession } from './audit.ts'
import { allowAgain, redactRune } from './corrections.ts'
import { getConsequence, getSnapshot, getTimeline, getTransitions } from './executions.ts'
import { getGoalCritiques } from './goal-critiques.ts'
import { approveGoal, cancelGoal, getGoal, listGoals, rejectGoal, startGoal } from './goals.ts'
import { getGraphState } from './graph.ts'
import { runHistory } from './history.ts'
import { answer, approve, deny, getInteraction, listInbox, settle } from './inbox.ts'
import { getMachine, getOccupancy, getTopology, listMachines } from './machines.ts'
import { listMemory } from './memory.ts'
import { getOutput } from './outputs.ts'
import { answerPlan, submitPlan } from './plan-commands.ts'
import {
  getPlan,
  getPlanGraph,
  getPlanOutputs,
  getPlanQuestions,
  getPlanReviewPack,
  getPlanRules,
  getPlanTape,
  listPlans,
  verifyPlan,
} from './plans.ts'
import { cancelRun, interruptRun, replyRun, steerRun, submitRun } from './run-commands.ts'
import { listRunes, stateAt } from './runes.ts'
import { getRun, listRuns, runInteraction, runResult, runTrace } from './runs.ts'
import { archiveSession, closeSession, pauseSession, resumeSession, sendMessage } from './session-commands.ts'
import { createSession, getSession, listSessions } from './sessions.ts'
import { findSubjects } from './subjects.ts'

/** Everything that can be asked from outside and is answered at once. The server, the documents and the tests walk this list. */
export const operations: readonly Operation[] = [
  listMachines,
  getMachine,
  getTopology,
  getOccupancy,
  getTimeline,
  getSnapshot,
  getConsequence,
  getTransitions,
  createSession,
  listSessions,
  getSession,
  sendMessage,
  pauseSession,
  resumeSession,
  closeSession,
  archiveSession,
  listRunes,
  listMemory,
  stateAt,
  getGraphState,
  auditSession,
  signSession,
  submitRun,
  listRuns,
  getRun,
  runResult,
  runInteraction,
  replyRun,
  steerRun,
  interruptRun,
  cancelRun,
  runTrace,
  runHistory,
  listInbox,
  getInteraction,
  approve,
  deny,
  answer,
  settle,
  getOutput,
  listAgents,
  spawnAgent,
  killAgent,
  submitPlan,
  listPlans,
  getPlan,
  getPlanGraph,
  getPlanRules,
  getPlanQuestions,
  getPlanReviewPack,
  getPlanTape,
  getPlanOutputs,
  answerPlan,
  verifyPlan,
  startGoal,
  listGoals,
  getGoal,
  getGoalCritiques,
  approveGoal,
  rejectGoal,
  cancelGoal,
  findSubjects,
  allowAgain,
  redactRune,
]
