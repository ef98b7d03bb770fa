import type { Command } from '../command.ts'
import { checkpointCommand } from './checkpoint.ts'
import { exportCommand } from './export.ts'
import { goalCommand } from './goal.ts'
import { inboxCommands } from './inbox.ts'
import { factsCommand, planCommand } from './plan.ts'
import { psCommand } from './ps.ts'
import { chatCommand, runCommand } from './run.ts'
import { serveCommand, workerCommand } from './serve.ts'
import { setupCommands } from './setup.ts'
import { showCommand } from './show.ts'
import { storeCommands } from './store.ts'
import { topologyCommand } from './topology.ts'
import { verbs } from './verbs.ts'
import { verifyCommand } from './verify.ts'
import { occupancyCommand, views } from './views.ts'
import { watchCommand } from './watch.ts'

/** Every command, in the order in which a user meets them. Help and reference pages list them in this order. */
export const commands: readonly Command[] = [
  ...setupCommands,
  runCommand,
  chatCommand,
  psCommand,
  showCommand,
  watchCommand,
  ...inboxCommands,
  ...verbs,
  ...views,
  topologyCommand,
  occupancyCommand,
  verifyCommand,
  checkpointCommand,
  exportCommand,
  ...storeCommands,
  workerCommand,
  planCommand,
  goalCommand,
  factsCommand,
  serveCommand,
]
