import { faults } from '../../faults/catalogue.ts'
import { firstBad } from '../../runelog/damage.ts'
import { othersTurn } from '../../runelog/slices.ts'
import { signCheckpoint } from '../../runes/checkpoint.ts'
import { createVerifier } from '../../runes/verify.ts'
import { auditShape, signedShape } from '../../wire/audit.ts'
import type { Backend } from '../backend.ts'
import { defineOperation } from '../operation.ts'

/** Verifies the chain of a session. */
export const auditSession = defineOperation({
  name: 'audit_session',
  route: 'GET /api/sessions/{session_id}/audit',
  scope: 'read',
  summary: 'Verify the chain of a session from its first event. Nothing is signed and nothing changes.',
  returns: auditShape,
  run: (backend, { params: { session_id } }) => audit(backend, session_id),
})

/** Verifies a session and signs its end. */
export const signSession = defineOperation({
  name: 'sign_session',
  route: 'POST /api/sessions/{session_id}/checkpoint',
  scope: 'admin',
  summary: 'Verify the chain of a session, and sign where it ends with the key of the store.',
  returns: signedShape,
  async run(backend, { params: { session_id } }) {
    const found = await audit(backend, session_id)
    const { is_sound, events: event_id, head: hash } = found
    const statement = { session_id, event_id, hash, at: backend.now() }
    return { ...found, checkpoint: is_sound ? signCheckpoint(statement, backend.signer()) : null }
  },
})

/** How much is verified before other requests get their turn: about a millisecond. */
const slice = { records: 100, bytes: 256 * 1024 }

async function audit({ runelog, sha256, check, publicKey }: Backend, session_id: string) {
  if ((await runelog.head(session_id)) === undefined) throw faults.not_found({ what: 'session', id: session_id })
  const own = publicKey()
  const verifier = createVerifier(session_id, { sha256, check, trusted: own === undefined ? [] : [own] })
  const unseen = { ...slice }
  const first_bad = await firstBad(runelog.records(session_id), verifier, ({ payload }) => {
    unseen.records -= 1
    unseen.bytes -= payload.length
    if (unseen.records > 0 && unseen.bytes > 0) return undefined
    Object.assign(unseen, slice)
    return othersTurn()
  })
  const { event_id: events, hash: head } = verifier.head()
  const redactions = [...verifier.redactions()]
  return { session_id, is_sound: first_bad === undefined, events, head, first_bad: first_bad ?? null, redactions }
}
