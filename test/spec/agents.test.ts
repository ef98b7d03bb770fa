import { describe } from 'vitest'
import { agentPlays } from '../scenarios/agents.ts'
import { budgetPlays } from '../scenarios/budgets.ts'
import { fastStores } from '../scenarios/stores.ts'

describe.each(fastStores)('on $name', (store) => {
  agentPlays(store)
  budgetPlays(store)
})
