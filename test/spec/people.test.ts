import { describe } from 'vitest'
import { approvalPlays } from '../scenarios/approvals.ts'
import { fastStores } from '../scenarios/stores.ts'

describe.each(fastStores)('on $name', (store) => {
  approvalPlays(store)
})
