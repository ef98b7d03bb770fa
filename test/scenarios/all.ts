import { approvalPlays } from './approvals.ts'
import { badInputPlays } from './bad-input.ts'
import { contractPlays } from './contracts.ts'
import { formPlays } from './forms.ts'
import { givenUpPlays } from './given-up.ts'
import { irreversiblePlays } from './irreversible.ts'
import { observationPlays } from './observation.ts'
import { oneResultPlays } from './one-result.ts'
import { resumingPlays } from './resuming.ts'
import { roundPlays } from './rounds.ts'
import { stoppingPlays } from './stopping.ts'
import type { Store } from './stores.ts'
import { toolPlays } from './tools.ts'
import { turnPlays } from './turns.ts'
import { unknownOutcomePlays } from './unknown-outcome.ts'

/** Every play of contracts, tools, turns and people, for a store that is not among the fast ones. */
export const allPlays: readonly ((store: Store) => void)[] = [
  approvalPlays,
  badInputPlays,
  contractPlays,
  formPlays,
  givenUpPlays,
  irreversiblePlays,
  observationPlays,
  oneResultPlays,
  resumingPlays,
  roundPlays,
  stoppingPlays,
  toolPlays,
  turnPlays,
  unknownOutcomePlays,
]
