import { faults } from '../../faults/catalogue.ts'
import { unreadable } from '../../runelog/damage.ts'
import { othersTurn } from '../../runelog/slices.ts'
import { signCheckpoint } from '../../runes/checkpoint.ts'
import { createVerifier } from '../../runes/verify.ts'
import { auditShape, signedShape } from '../../wire/audit.ts'
import type { Backend } from '../backend.ts'
import { defineOperation } from '../operation.ts'

export const auditSession = defineOperation({
  name: 'audit_session',
  route: 'GET /api/sessions/{session_id}/audit',
  scope: 'read',
  summary: 'Verify the chain of a session from its first event. Nothing is signed and nothing changes.',
  returns: auditShape,
  run: (backend, { params: { session_id } }) => audit(backend, session_id),
})

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
  const first_bad = (await firstBad()) ?? null
  const { event_id: events, hash: head } = verifier.head()
  return { session_id, is_sound: first_bad === null, events, head, first_bad, redactions: [...verifier.redactions()] }

  async function firstBad() {
    let records = 0
    let bytes = 0
    try {
      for await (const record of runelog.records(session_id)) {
        const bad = verifier.take(record)
        if (bad !== undefined) return bad
        records += 1
        bytes += record.payload.length
        if (records < slice.records && bytes < slice.bytes) continue
        records = 0
        bytes = 0
        await othersTurn()
      }
    } catch (error) {
      // Bytes that cannot even be read are a finding, not a failure of the audit.
      return { event_id: verifier.head().event_id + 1, problem: unreadable(error) }
    }
    return verifier.end()
  }
}
