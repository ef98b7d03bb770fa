import type { Operation } from '../operation.ts'
import { killAgent, listAgents, listMemory, spawnAgent } from './agents.ts'
import { getConsequence, getGraphState, getOutput, getSnapshot, getTimeline, getTransitions } from './executions.ts'
import { approveGoal, cancelGoal, getGoal, getGoalCritiques, listGoals, rejectGoal, startGoal } from './goals.ts'
import { answer, approve, deny, getInteraction, listInbox, settle } from './inbox.ts'
import { findSubjects, getMachine, getOccupancy, getTopology, listMachines } from './machines.ts'
import {
  answerPlan,
  getPlan,
  getPlanGraph,
  getPlanOutputs,
  getPlanQuestions,
  getPlanReviewPack,
  getPlanRules,
  getPlanTape,
  listPlans,
  submitPlan,
  verifyPlan,
} from './plans.ts'
import { auditSession, listRunes, signSession, stateAt } from './runes.ts'
import {
  cancelRun,
  getRun,
  interruptRun,
  listRuns,
  replyRun,
  runHistory,
  runInteraction,
  runResult,
  runTrace,
  steerRun,
  submitRun,
} from './runs.ts'
import {
  allowAgain,
  archiveSession,
  closeSession,
  pauseSession,
  redactRune,
  resumeSession,
  sendMessage,
} from './session-commands.ts'
import { createSession, getSession, listSessions } from './sessions.ts'

/** Everything that can be asked from outside and is answered at once. The server, the documents and the tests walk this list. */
// biome-ignore format: one line for what belongs together
export const operations: readonly Operation[] = [
  listMachines, getMachine, getTopology, getOccupancy,
  getTimeline, getSnapshot, getConsequence, getTransitions,
  createSession, listSessions, getSession, sendMessage, pauseSession, resumeSession, closeSession, archiveSession,
  listRunes, listMemory, stateAt, getGraphState, auditSession, signSession,
  submitRun, listRuns, getRun, runResult, runInteraction, replyRun, steerRun, interruptRun, cancelRun, runTrace, runHistory,
  listInbox, getInteraction, approve, deny, answer, settle, getOutput,
  listAgents, spawnAgent, killAgent,
  submitPlan, listPlans, getPlan, getPlanGraph, getPlanRules, getPlanQuestions, getPlanReviewPack, getPlanTape,
  getPlanOutputs, answerPlan, verifyPlan,
  startGoal, listGoals, getGoal, getGoalCritiques, approveGoal, rejectGoal, cancelGoal,
  findSubjects, allowAgain, redactRune,
]
