import type { Command } from '../command.ts'
import { chatCommand } from './chat.ts'
import { checkpointCommand } from './checkpoint.ts'
import { exportCommand } from './export.ts'
import { factsCommand } from './facts.ts'
import { goalCommand } from './goal.ts'
import { inboxCommand } from './inbox.ts'
import { planCommand } from './plan.ts'
import { psCommand } from './ps.ts'
import { replayCommand } from './replay.ts'
import { answerCommand, approveCommand, denyCommand, settleCommand } from './replies.ts'
import { runCommand } from './run.ts'
import { allowAgainCommand, cancelCommand, steerCommand } from './run-verbs.ts'
import { serveCommand, workerCommand } from './serve.ts'
import { closeCommand, killCommand, pauseCommand, resumeCommand, spawnCommand } from './session-verbs.ts'
import { demoCommand, doctorCommand, initCommand } from './setup.ts'
import { showCommand } from './show.ts'
import { archiveCommand, backupCommand, cleanCommand, rebuildCommand, redactCommand } from './store.ts'
import { topologyCommand } from './topology.ts'
import { verifyCommand } from './verify.ts'
import { memoryCommand, occupancyCommand, timelineCommand, traceCommand } from './views.ts'
import { watchCommand } from './watch.ts'

/** Every command, in the order in which a user meets them. Help and reference pages list them in this order. */
export const commands: readonly Command[] = [
  demoCommand,
  initCommand,
  doctorCommand,
  runCommand,
  chatCommand,
  psCommand,
  showCommand,
  watchCommand,
  inboxCommand,
  approveCommand,
  denyCommand,
  answerCommand,
  settleCommand,
  steerCommand,
  cancelCommand,
  pauseCommand,
  resumeCommand,
  closeCommand,
  spawnCommand,
  killCommand,
  allowAgainCommand,
  timelineCommand,
  traceCommand,
  memoryCommand,
  replayCommand,
  topologyCommand,
  occupancyCommand,
  verifyCommand,
  checkpointCommand,
  exportCommand,
  backupCommand,
  redactCommand,
  archiveCommand,
  cleanCommand,
  rebuildCommand,
  workerCommand,
  planCommand,
  goalCommand,
  factsCommand,
  serveCommand,
]
