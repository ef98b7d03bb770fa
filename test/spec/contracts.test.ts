import { describe } from 'vitest'
import { contractPlays } from '../scenarios/contracts.ts'
import { fastStores } from '../scenarios/stores.ts'

describe.each(fastStores)('on $name', contractPlays)
