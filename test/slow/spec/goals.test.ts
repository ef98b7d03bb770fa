import { describe } from 'vitest'
import { goalPlays } from '../../scenarios/goals.ts'
import { fastStores } from '../../scenarios/stores.ts'

describe.each(fastStores.filter(({ name }) => name !== 'memory'))('on $name', (store) => {
  goalPlays(store)
})
