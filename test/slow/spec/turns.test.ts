import { describe } from 'vitest'
import { stoppingPlays } from '../../scenarios/stopping.ts'
import { fastStores } from '../../scenarios/stores.ts'
import { turnPlays } from '../../scenarios/turns.ts'

describe.each(fastStores)('on $name', (store) => {
  turnPlays(store)
  stoppingPlays(store)
})
