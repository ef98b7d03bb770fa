import { describe } from 'vitest'
import { roundPlays } from '../scenarios/rounds.ts'
import { fastStores } from '../scenarios/stores.ts'
import { toolPlays } from '../scenarios/tools.ts'

describe.each(fastStores)('on $name', (store) => {
  toolPlays(store)
  roundPlays(store)
})
