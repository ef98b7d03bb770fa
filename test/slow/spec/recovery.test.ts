import { describe } from 'vitest'
import { massRecoveryPlays } from '../../scenarios/mass-recovery.ts'
import { runRecoveryPlays } from '../../scenarios/run-recovery.ts'
import { fastStores } from '../../scenarios/stores.ts'

describe.each(fastStores)('on $name', (store) => {
  runRecoveryPlays(store)
  massRecoveryPlays(store)
})
