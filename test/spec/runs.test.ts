import { describe } from 'vitest'
import { autoRunPlays } from '../scenarios/auto-runs.ts'
import { deadlinePlays } from '../scenarios/deadlines.ts'
import { runPlays } from '../scenarios/runs.ts'
import { fastStores } from '../scenarios/stores.ts'

describe.each(fastStores)('on $name', (store) => {
  runPlays(store)
  deadlinePlays(store)
  autoRunPlays(store)
})
