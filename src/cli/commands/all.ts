import type { Command } from '../command.ts'
import { killCommand, spawnCommand } from './agents.ts'
import { allowAgainCommand } from './allow-again.ts'
import { answerCommand } from './answer.ts'
import { approveCommand } from './approve.ts'
import { archiveCommand } from './archive.ts'
import { backupCommand } from './backup.ts'
import { cancelCommand } from './cancel.ts'
import { chatCommand } from './chat.ts'
import { checkpointCommand } from './checkpoint.ts'
import { cleanCommand } from './clean.ts'
import { demoCommand } from './demo.ts'
import { denyCommand } from './deny.ts'
import { doctorCommand } from './doctor.ts'
import { exportCommand } from './export.ts'
import { factsCommand } from './facts.ts'
import { goalCommand } from './goal.ts'
import { inboxCommand } from './inbox.ts'
import { initCommand } from './init.ts'
import { memoryCommand } from './memory.ts'
import { occupancyCommand } from './occupancy.ts'
import { planCommand } from './plan.ts'
import { psCommand } from './ps.ts'
import { rebuildCommand } from './rebuild.ts'
import { redactCommand } from './redact.ts'
import { replayCommand } from './replay.ts'
import { runCommand } from './run.ts'
import { serveCommand } from './serve.ts'
import { closeCommand, pauseCommand, resumeCommand } from './session-verbs.ts'
import { settleCommand } from './settle.ts'
import { showCommand } from './show.ts'
import { steerCommand } from './steer.ts'
import { timelineCommand } from './timeline.ts'
import { topologyCommand } from './topology.ts'
import { traceCommand } from './trace.ts'
import { verifyCommand } from './verify.ts'
import { watchCommand } from './watch.ts'
import { workerCommand } from './worker.ts'

/** Every command there is, in the order in which one meets them. Help, usage and the reference pages walk this list. */
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
