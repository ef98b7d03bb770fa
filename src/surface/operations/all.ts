import type { Operation } from '../operation.ts'
import * as agents from './agents.ts'
import * as executions from './executions.ts'
import * as goals from './goals.ts'
import * as inbox from './inbox.ts'
import * as machines from './machines.ts'
import * as plans from './plans.ts'
import * as runes from './runes.ts'
import * as runs from './runs.ts'
import * as acts from './sessions.ts'
import * as sessions from './sessions.ts'

/** Everything that can be asked from outside and is answered at once. The server, the documents and the tests walk this list. */
// biome-ignore format: one line for what belongs together
export const operations: readonly Operation[] = [
  machines.listMachines, machines.getMachine, machines.getTopology, machines.getOccupancy,
  executions.getTimeline, executions.getSnapshot, executions.getConsequence, executions.getTransitions,
  sessions.createSession, sessions.listSessions, sessions.getSession, acts.sendMessage, acts.pauseSession,
  acts.resumeSession, acts.closeSession, acts.archiveSession,
  runes.listRunes, agents.listMemory, runes.stateAt, executions.getGraphState, runes.auditSession, runes.signSession,
  runs.submitRun, runs.listRuns, runs.getRun, runs.runResult, runs.runInteraction, runs.replyRun, runs.steerRun,
  runs.interruptRun, runs.cancelRun, runs.runTrace, runs.runHistory,
  inbox.listInbox, inbox.getInteraction, inbox.approve, inbox.deny, inbox.answer, inbox.settle, executions.getOutput,
  agents.listAgents, agents.spawnAgent, agents.killAgent,
  plans.submitPlan, plans.listPlans, plans.getPlan, plans.getPlanGraph, plans.getPlanRules, plans.getPlanQuestions,
  plans.getPlanReviewPack, plans.getPlanTape,
  plans.getPlanOutputs, plans.answerPlan, plans.verifyPlan,
  goals.startGoal, goals.listGoals, goals.getGoal, goals.getGoalCritiques, goals.approveGoal, goals.rejectGoal,
  goals.cancelGoal,
  machines.findSubjects, acts.allowAgain, acts.redactRune,
]
