import { describe } from 'vitest'
import { approvalPlays } from '../scenarios/approvals.ts'
import { badInputPlays } from '../scenarios/bad-input.ts'
import { formPlays } from '../scenarios/forms.ts'
import { fastStores } from '../scenarios/stores.ts'

describe.each(fastStores)('on $name', (store) => {
  approvalPlays(store)
  formPlays(store)
  badInputPlays(store)
})
