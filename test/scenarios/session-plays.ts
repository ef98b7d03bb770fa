import { agentPlays } from './agents.ts'
import { autoRunPlays } from './auto-runs.ts'
import { budgetPlays } from './budgets.ts'
import { deadlinePlays } from './deadlines.ts'
import { massRecoveryPlays } from './mass-recovery.ts'
import { runRecoveryPlays } from './run-recovery.ts'
import { runPlays } from './runs.ts'
import { sessionPlays } from './sessions.ts'
import { closedSessionPlays } from './sessions-over.ts'
import { suspendedSessionPlays } from './sessions-suspended.ts'
import type { Store } from './stores.ts'

/** Every play of runs, sessions and agents, for a store that is not among the fast ones. */
export const allSessionPlays: readonly ((store: Store) => void)[] = [
  agentPlays,
  autoRunPlays,
  budgetPlays,
  deadlinePlays,
  massRecoveryPlays,
  runRecoveryPlays,
  runPlays,
  sessionPlays,
  closedSessionPlays,
  suspendedSessionPlays,
]
