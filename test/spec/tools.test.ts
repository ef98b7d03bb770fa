import { describe } from 'vitest'
import { oneResultPlays } from '../scenarios/one-result.ts'
import { roundPlays } from '../scenarios/rounds.ts'
import { fastStores } from '../scenarios/stores.ts'
import { toolPlays } from '../scenarios/tools.ts'

describe.each(fastStores)('on $name', (store) => {
  toolPlays(store)
  roundPlays(store)
  oneResultPlays(store)
})
