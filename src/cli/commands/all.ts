import type { Command } from '../command.ts'
import { archiveCommand } from './archive.ts'
import { checkpointCommand } from './checkpoint.ts'
import { exportCommand } from './export.ts'
import { rebuildCommand } from './rebuild.ts'
import { redactCommand } from './redact.ts'
import { serveCommand } from './serve.ts'
import { topologyCommand } from './topology.ts'
import { verifyCommand } from './verify.ts'
import { workerCommand } from './worker.ts'

/** Every command there is. Help, usage and the reference pages walk this list. */
export const commands: readonly Command[] = [
  topologyCommand,
  verifyCommand,
  checkpointCommand,
  exportCommand,
  redactCommand,
  archiveCommand,
  rebuildCommand,
  workerCommand,
  serveCommand,
]
