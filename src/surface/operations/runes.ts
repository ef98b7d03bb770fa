import { faults } from '../../faults/catalogue.ts'
import { readGuardsAgain } from '../../observation/readings.ts'
import { movesIn, type SubjectAt, type SubjectMove, subjectCard } from '../../observation/subject-moves.ts'
import { isShown } from '../../observation/visible.ts'
import { firstBad } from '../../runelog/first-bad.ts'
import { inSlices, othersTurn, sliceRunes } from '../../runelog/slices.ts'
import { signCheckpoint } from '../../runes/checkpoint.ts'
import { isErased } from '../../runes/erasure.ts'
import { linesOf } from '../../runes/record.ts'
import type { Rune } from '../../runes/rune.ts'
import { createVerifier } from '../../runes/verify.ts'
import { withoutUndefined } from '../../runtime/options.ts'
import { isSelected, namesIn, runeEndpoints } from '../../wire/rune.ts'
import type { Backend } from '../backend.ts'
import { defineOperation } from '../operation.ts'
import { isHidden } from '../session-views.ts'

/** How many runes one page reads at most: a filter that matches nothing must not read a whole log. */
const lookedThrough = 5_000

/** A page ends after the rune with which it has this many bytes. */
const pageBytes = 2_000_000

/** Lists the public runes of a session. */
export const listRunes = defineOperation({
  ...runeEndpoints.listRunes,
  summary: 'The public runes of a session, oldest first, or newest first with backward.',
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
        if (isShown(rune) && !isHidden(rune, hidden) && isWanted(rune, wanted)) {
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

/** The approximate size: text in the payload makes a rune large. */
function sizeOf({ payload }: Rune): number {
  let bytes = 500
  for (const value of Object.values(payload)) bytes += typeof value === 'string' ? value.length : 50
  return bytes
}

function isWanted({ kind }: Rune, wanted: readonly string[] | undefined): boolean {
  return wanted === undefined || wanted.some((name) => isSelected(kind, name))
}

/** Reads every machine of a session after one event. */
export const stateAt = defineOperation({
  ...runeEndpoints.stateAt,
  summary: 'The state of every machine of a session after one event, and its possible moves.',
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
  ...runeEndpoints.auditSession,
  summary: 'Verify the chain of a session from its first event. Nothing is signed and nothing changes.',
  run: (backend, { params: { session_id } }) => audit(backend, session_id),
})

/** Verifies a session and signs its end. */
export const signSession = defineOperation({
  ...runeEndpoints.signSession,
  scope: 'admin',
  summary: 'Verify the chain of a session, and sign where it ends with the key of the store.',
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

/** How much is verified before other requests get their turn: about a millisecond. A commit is not divided. */
const slice = { events: 100, bytes: 256 * 1024 }

async function audit({ runelog, sha256, check, publicKey }: Auditing, session_id: string) {
  if ((await runelog.head(session_id)) === undefined) throw faults.not_found({ what: 'session', id: session_id })
  const own = publicKey()
  const verifier = createVerifier(session_id, {
    sha256,
    check,
    isErased,
    trusted: own === undefined ? [] : [own],
    readAgain: readGuardsAgain,
  })
  const unseen = { ...slice }
  const first_bad = await firstBad(runelog.records(session_id), verifier, ({ payload }) => {
    unseen.events -= linesOf(payload).length
    unseen.bytes -= payload.length
    if (unseen.events > 0 && unseen.bytes > 0) return undefined
    Object.assign(unseen, slice)
    return othersTurn()
  })
  const { event_id: events, hash: head } = verifier.head()
  const redactions = [...verifier.redactions()]
  return { session_id, is_sound: first_bad === undefined, events, head, first_bad: first_bad ?? null, redactions }
}
