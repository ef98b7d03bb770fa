import { describe } from 'vitest'
import { fastStores } from '../scenarios/stores.ts'
import { toolPlays } from '../scenarios/tools.ts'

describe.each(fastStores)('on $name', toolPlays)
