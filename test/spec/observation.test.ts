import { describe } from 'vitest'
import { observationPlays } from '../scenarios/observation.ts'
import { resumingPlays } from '../scenarios/resuming.ts'
import { fastStores } from '../scenarios/stores.ts'

describe.each(fastStores)('on $name', (store) => {
  observationPlays(store)
  resumingPlays(store)
})
