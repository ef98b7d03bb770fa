import { describe } from 'vitest'
import { sessionPlays } from '../scenarios/sessions.ts'
import { closedSessionPlays } from '../scenarios/sessions-over.ts'
import { suspendedSessionPlays } from '../scenarios/sessions-suspended.ts'
import { fastStores } from '../scenarios/stores.ts'

describe.each(fastStores)('on $name', (store) => {
  sessionPlays(store)
  suspendedSessionPlays(store)
  closedSessionPlays(store)
})
