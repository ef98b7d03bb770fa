import { faults } from '../../faults/catalogue.ts'
import { contractHistories, statusOf } from '../../observation/contract.ts'
import { runesOf, subjectOf } from '../../runelog/queries.ts'
import { createBatch } from '../batch.ts'
import { attempt } from '../decide-and-append.ts'
import type { Engine } from '../engine.ts'
import { saltedKey } from '../tools/policy.ts'

/**
 * A person wants an irreversible action done once more although it was done. The next call for the same action gets a
 * key of its own, in any session if the scope of its key is global; the one after that is refused again.
 */
export async function allowAgain(engine: Engine, execution_id: string, allowed_by: string): Promise<void> {
  const { session_id } = await subjectOf(engine.runelog, 'contract', execution_id)
  const history = contractHistories(await runesOf(engine.runelog, execution_id)).get(execution_id)
  if (history === undefined) throw faults.not_found({ what: 'contract', id: execution_id })
  const status = statusOf(history)
  const { idempotency_key, irreversible } = history[0].payload
  if (!irreversible || idempotency_key === null || status !== 'completed')
    throw faults.not_repeatable({ execution_id, status, irreversible })
  const salted_key = saltedKey(idempotency_key, engine.ids.next('again'), engine.sha256)
  await attempt(engine, session_id, (state) => {
    const batch = createBatch(state, engine.clock.now())
    const payload = { idempotency_key, salted_key, allowed_by }
    batch.record('contract.repeat_allowed', { actor: 'human', payload }, { execution_id })
    return { batch, answer: () => undefined }
  })
}
