import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { readGuardsAgain } from '../../observation/readings.ts'
import { movesIn, type SubjectAt, type SubjectMove, subjectCard } from '../../observation/subject-moves.ts'
import { isShown } from '../../observation/visible.ts'
import { firstBad } from '../../runelog/damage.ts'
import { inSlices, othersTurn, sliceRunes } from '../../runelog/slices.ts'
import { signCheckpoint } from '../../runes/checkpoint.ts'
import { kinds } from '../../runes/kinds.ts'
import type { Rune } from '../../runes/rune.ts'
import { createVerifier } from '../../runes/verify.ts'
import { withoutUndefined } from '../../runtime/options.ts'
import { count, flag } from '../../wire/common.ts'
import { subjectShape } from '../../wire/machine.ts'
import { auditShape, runesShape, signedShape } from '../../wire/rune.ts'
import type { Backend } from '../backend.ts'
import { defineOperation } from '../operation.ts'
import { isHidden } from '../session-views.ts'

/** How many runes one page reads at most: a filter that matches nothing must not read a whole log. */
const lookedThrough = 5_000

/** A page ends after the rune with which it has this many bytes. */
const pageBytes = 2_000_000

/** Lists the public runes of a session. */
export const listRunes = defineOperation({
  name: 'list_runes',
  route: 'GET /api/sessions/{session_id}/runes',
  summary: 'The public runes of a session, oldest first, or newest first with backward.',
  query: z.strictObject({
    /** Only runes with a greater event id. */
    after: count(z.int().nonnegative()).optional(),
    /** Only runes with a smaller event id. */
    before: count(z.int().positive()).optional(),
    limit: count(z.int().min(1).max(1_000)).prefault(200),
    backward: flag.default(false),
    /** Kinds, separated by commas; `tool.` selects every kind that begins so. */
    kinds: z.string().max(2_000).superRefine(refuseUnknownKinds).optional(),
  }),
  returns: runesShape,
  async run({ runelog, views }, { params: { session_id }, query }) {
    const { hidden } = await views.of(session_id)
    const { after, before, limit, backward, kinds } = query
    const head = await runelog.head(session_id)
    if (head === undefined) throw faults.not_found({ what: 'session', id: session_id })
    const wanted = kinds === undefined ? undefined : namesIn(kinds)
    const most = wanted === undefined ? limit : lookedThrough
    const items: Rune[] = []
    let last: number | undefined
    let bytes = 0
    let seen = 0
    // In slices, with turns for others in between; a page also ends where it has many bytes.
    while (seen < most && items.length < limit && bytes < pageBytes) {
      const from = last === undefined ? { after, before } : backward ? { after, before: last } : { after: last, before }
      const slice = Math.min(sliceRunes, most - seen, wanted === undefined ? limit - items.length : sliceRunes)
      const runes = await runelog.read(session_id, withoutUndefined({ ...from, backward, limit: slice }))
      for (const rune of runes) {
        seen += 1
        last = rune.event_id
        if (isShown(rune) && !isHidden(rune, hidden) && (wanted?.some((name) => fits(rune.kind, name)) ?? true)) {
          items.push(rune)
          bytes += sizeOf(rune)
        }
        if (items.length === limit || bytes >= pageBytes) break
      }
      if (runes.length < slice) break
      await othersTurn()
    }
    const isOver =
      last === undefined || (backward ? last <= (after ?? 0) + 1 : last >= (before ?? head.event_id + 1) - 1)
    return { items, next: isOver ? null : (last ?? null), event_id: head.event_id }
  },
})

/** Roughly: what makes a rune large is text in its payload. */
function sizeOf({ payload }: Rune): number {
  let bytes = 500
  for (const value of Object.values(payload)) bytes += typeof value === 'string' ? value.length : 50
  return bytes
}

const fits = (kind: string, name: string) => kind === name || (name.endsWith('.') && kind.startsWith(name))

const namesIn = (given: string) => given.split(',').filter((name) => name !== '')

/** A misspelled kind matches nothing, and the list would look as if nothing had been recorded. */
function refuseUnknownKinds(given: string, context: z.RefinementCtx): void {
  const names = namesIn(given)
  const known = Object.keys(kinds)
  const unknown = names.find((name) => !known.some((kind) => fits(kind, name)))
  if (names.length > 0 && unknown === undefined) return
  const shown = unknown === undefined ? 'It names no kind.' : `Unknown kind ${JSON.stringify(unknown)}.`
  context.addIssue(`${shown} Known kinds, which "tool." and the like select by their beginning: ${known.join(', ')}.`)
}

/** Reads every machine of a session after one event. */
export const stateAt = defineOperation({
  name: 'state_at',
  route: 'GET /api/sessions/{session_id}/state',
  summary: 'Where every machine of a session was after one event, and what could have become of it.',
  query: z.strictObject({ at: count(z.int().nonnegative()).optional() }),
  returns: z.object({
    session_id: z.string(),
    /** The event after which this is so. */
    event_id: z.int(),
    /** When that was; null before the first event. */
    at: z.int().nullable(),
    subjects: z.array(subjectShape),
    /** What this event moved. */
    moves: z.array(
      z.object({
        machine: z.string(),
        subject_id: z.string(),
        from: z.string().nullable(),
        to: z.string(),
        trigger: z.string().nullable(),
      }),
    ),
  }),
  async run({ views, runelog }, { params: { session_id }, query }) {
    const { state, steps } = await views.of(session_id)
    const event_id = query.at ?? state.event_id
    if (event_id > state.event_id) throw faults.not_found({ what: 'event', id: `${event_id} of ${session_id}` })
    const [rune] = event_id === 0 ? [] : await runelog.read(session_id, { after: event_id - 1, limit: 1 })
    const past = await pastAt(steps, event_id)
    return { session_id, event_id, at: rune?.at ?? null, ...past }
  },
})

/** Where everything was after an event, and what that event moved. A long past is gone through in slices. */
async function pastAt(steps: readonly Rune[], event_id: number) {
  const states = new Map<string, string>()
  const subjects = new Map<string, SubjectAt>()
  const moved: Omit<SubjectMove, 'event_id' | 'at'>[] = []
  for await (const slice of inSlices(steps))
    for (const rune of slice) {
      if (rune.event_id > event_id) break
      for (const { at: since, event_id: id, ...move } of movesIn(rune, states)) {
        const { machine, subject_id, to: state } = move
        states.set(subject_id, state)
        if (id === event_id) moved.push(move)
        if (subjects.get(subject_id)?.state !== state)
          subjects.set(subject_id, { machine, subject_id, state, since, event_id: id })
      }
    }
  return { subjects: [...subjects.values()].map(subjectCard), moves: moved }
}

/** Verifies the chain of a session. */
export const auditSession = defineOperation({
  name: 'audit_session',
  route: 'GET /api/sessions/{session_id}/audit',
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
  run: (backend, { params: { session_id } }) => signLog(backend, session_id),
})

type Auditing = Pick<Backend, 'runelog' | 'sha256' | 'check' | 'publicKey'>

/** Verifies a log, and signs where it ends if it is sound. */
export async function signLog(backend: Auditing & Pick<Backend, 'signer' | 'now'>, session_id: string) {
  const found = await audit(backend, session_id)
  const { is_sound, events: event_id, head: hash } = found
  const statement = { session_id, event_id, hash, at: backend.now() }
  return { ...found, checkpoint: is_sound ? signCheckpoint(statement, backend.signer()) : null }
}

/** How much is verified before other requests get their turn: about a millisecond. */
const slice = { records: 100, bytes: 256 * 1024 }

async function audit({ runelog, sha256, check, publicKey }: Auditing, session_id: string) {
  if ((await runelog.head(session_id)) === undefined) throw faults.not_found({ what: 'session', id: session_id })
  const own = publicKey()
  const verifier = createVerifier(session_id, {
    sha256,
    check,
    trusted: own === undefined ? [] : [own],
    readAgain: readGuardsAgain,
  })
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
