import { describe, expect, test } from 'vitest'
import { allPlays } from '../../scenarios/all.ts'
import { autoRunPlays } from '../../scenarios/auto-runs.ts'
import { budgetPlays } from '../../scenarios/budgets.ts'
import { deadlinePlays } from '../../scenarios/deadlines.ts'
import { observationPlays } from '../../scenarios/observation.ts'
import { resumingPlays } from '../../scenarios/resuming.ts'
import { runRecoveryPlays } from '../../scenarios/run-recovery.ts'
import { runPlays } from '../../scenarios/runs.ts'
import { allSessionPlays } from '../../scenarios/session-plays.ts'
import { fastStores, type Store } from '../../scenarios/stores.ts'
import { overHttp } from '../../support/over-http.ts'
import { isProof } from '../../support/sampling.ts'

const called = new Set<string>()

const servers: readonly Store[] = fastStores.map((store) => ({
  name: `a server over ${store.name}`,
  open: async () => ({ ...(await store.open()), through: overHttp(called).through }),
}))

/** Specifications 004 and 001 over HTTP: the commands of a client to runs, its answers and streams, and how it resumes them. */
const usual = [runPlays, deadlinePlays, autoRunPlays, runRecoveryPlays, observationPlays, resumingPlays]

/** Plays of budgets submit the second run while the first is at work, which a run on memory has finished by then. */
const all = [...allSessionPlays, ...allPlays].filter((plays) => plays !== budgetPlays)

describe.each(servers)('through $name', (store) => {
  for (const plays of isProof ? all : usual) plays(store)
})

test('plays http: the plays did go over HTTP', () => {
  expect([...called].sort()).toEqual(
    expect.arrayContaining([
      'cancel_run',
      'get_run',
      'list_inbox',
      'pause_session',
      'reply_run',
      'run_result',
      'submit_run',
    ]),
  )
})
