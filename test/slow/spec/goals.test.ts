import { describe } from 'vitest'
import { goalPlays } from '../../scenarios/goals.ts'
import { fastStores } from '../../scenarios/stores.ts'

describe.each(fastStores)('on $name', (store) => {
  goalPlays(store)
})
