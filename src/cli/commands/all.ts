import type { Command } from '../command.ts'
import { checkpointCommand, exportCommand } from './checkpoint.ts'
import { goalCommand } from './goal.ts'
import { inboxCommands } from './inbox.ts'
import { factsCommand, planCommand } from './plan.ts'
import { chatCommand, runCommand } from './run.ts'
import { serveCommand, workerCommand } from './serve.ts'
import { setupCommands } from './setup.ts'
import { showCommand } from './show.ts'
import { storeCommands } from './store.ts'
import { verbs } from './verbs.ts'
import { verifyCommand } from './verify.ts'
import { psCommand, views } from './views.ts'
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
