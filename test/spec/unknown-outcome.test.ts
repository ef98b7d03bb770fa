import { describe } from 'vitest'
import { givenUpPlays } from '../scenarios/given-up.ts'
import { fastStores } from '../scenarios/stores.ts'
import { unknownOutcomePlays } from '../scenarios/unknown-outcome.ts'

describe.each(fastStores)('on $name', (store) => {
  unknownOutcomePlays(store)
  givenUpPlays(store)
})
