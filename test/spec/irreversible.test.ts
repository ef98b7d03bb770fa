import { describe } from 'vitest'
import { irreversiblePlays } from '../scenarios/irreversible.ts'
import { fastStores } from '../scenarios/stores.ts'

describe.each(fastStores)('on $name', irreversiblePlays)
