import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { stateAt as stateAtEvent } from '../../observation/state-at.ts'
import { subjectMoves } from '../../observation/subject-moves.ts'
import { signCheckpoint } from '../../runes/checkpoint.ts'
import type { Rune } from '../../runes/rune.ts'
import { createVerifier } from '../../runes/verify.ts'
import { defineOperation } from '../operation.ts'
import { withoutUndefined } from '../plain.ts'
import { id } from '../shapes/id.ts'
import { count, flag } from '../shapes/page.ts'
import { runeShape, subjectShape } from '../shapes/rune.ts'
import { nothing } from '../shapes.ts'
import { subjectCard } from '../spine.ts'

const one = z.object({ session_id: id })

/** How many runes are looked through for one page: a filter that fits nothing must not read a whole log at once. */
const lookedThrough = 5_000

export const listRunes = defineOperation({
  name: 'list_runes',
  method: 'GET',
  path: '/api/sessions/{session_id}/runes',
  scope: 'read',
  summary: 'The public runes of a session, oldest first, or newest first with backward.',
  params: one,
  query: z.strictObject({
    /** Only runes with a greater event id. */
    after: count.nonnegative().optional(),
    /** Only runes with a smaller event id. */
    before: count.positive().optional(),
    limit: count.min(1).max(1_000).default(200),
    backward: flag.default(false),
    /** Kinds, separated by commas; `tool.` stands for all that begin so. */
    kinds: z.string().max(2_000).optional(),
  }),
  body: null,
  returns: z.object({
    items: z.array(runeShape),
    /** Where the next page begins: `after` this one, or `before` it with backward. Null: there are no more for now. */
    next: z.int().nullable(),
    /** The last rune of the session. */
    event_id: z.int(),
  }),
  async run({ runelog }, { params: { session_id }, query }) {
    const { after, before, limit, backward, kinds } = query
    const head = await runelog.head(session_id)
    if (head === undefined) throw faults.not_found({ what: 'session', id: session_id })
    const wanted = kinds?.split(',').filter((kind) => kind !== '')
    const range = withoutUndefined({ after, before, backward, limit: wanted === undefined ? limit : lookedThrough })
    const runes = await runelog.read(session_id, range)
    const items: Rune[] = []
    let last: number | undefined
    for (const rune of runes) {
      last = rune.event_id
      if (isWanted(rune, wanted)) items.push(rune)
      if (items.length === limit) break
    }
    const isOver =
      last === undefined || (backward ? last <= (after ?? 0) + 1 : last >= (before ?? head.event_id + 1) - 1)
    return { items, next: isOver ? null : (last ?? null), event_id: head.event_id }
  },
})

function isWanted({ kind, visibility }: Rune, wanted: readonly string[] | undefined): boolean {
  if (visibility !== 'public') return false
  return wanted === undefined || wanted.some((w) => kind === w || (w.endsWith('.') && kind.startsWith(w)))
}

export const stateAt = defineOperation({
  name: 'state_at',
  method: 'GET',
  path: '/api/sessions/{session_id}/state',
  scope: 'read',
  summary: 'Where every machine of a session was after one event, and what could have become of it.',
  params: one,
  query: z.strictObject({ at: count.nonnegative().optional() }),
  body: null,
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
    const moves = [...subjectMoves(steps)].flatMap(({ event_id: id, at: _, ...move }) =>
      id === event_id ? [move] : [],
    )
    const subjects = [...stateAtEvent(steps, event_id).values()].map(subjectCard)
    return { session_id, event_id, at: rune?.at ?? null, subjects, moves }
  },
})

export const auditSession = defineOperation({
  name: 'audit_session',
  method: 'GET',
  path: '/api/sessions/{session_id}/audit',
  scope: 'read',
  summary: 'Verify the chain of a session from its first event, and sign what was found.',
  params: one,
  query: nothing,
  body: null,
  returns: z.object({
    session_id: z.string(),
    is_sound: z.boolean(),
    events: z.int(),
    /** The hash of the last event that is proved. */
    head: z.string(),
    /** The first event that is not what was recorded, and how that shows. */
    first_bad: z.object({ event_id: z.int(), problem: z.string() }).nullable(),
    /** Every event whose content was erased, by whom and why. */
    redactions: z.array(
      z.object({
        event_id: z.int(),
        recorded_at: z.int(),
        reason: z.string(),
        redacted_by: z.string().nullable(),
        public_key: z.string().nullable(),
        is_after_mark: z.boolean(),
      }),
    ),
    /** A signed statement to keep elsewhere; null if the log is not sound. */
    checkpoint: z
      .object({
        session_id: z.string(),
        event_id: z.int(),
        hash: z.string(),
        at: z.int(),
        public_key: z.string(),
        signature: z.string(),
      })
      .nullable(),
  }),
  async run({ runelog, sha256, check, signer, now }, { params: { session_id } }) {
    if ((await runelog.head(session_id)) === undefined) throw faults.not_found({ what: 'session', id: session_id })
    const key = signer()
    const verifier = createVerifier(session_id, { sha256, check, trusted: [key.public_key] })
    const first_bad = (await firstBad()) ?? null
    const { event_id, hash } = verifier.head()
    const checkpoint = first_bad === null ? signCheckpoint({ session_id, event_id, hash, at: now() }, key) : null
    const redactions = [...verifier.redactions()]
    return { session_id, is_sound: first_bad === null, events: event_id, head: hash, first_bad, redactions, checkpoint }

    async function firstBad() {
      try {
        for await (const record of runelog.records(session_id)) {
          const bad = verifier.take(record)
          if (bad !== undefined) return bad
        }
      } catch (error) {
        // Bytes that cannot even be read are a finding, not a failure of the audit.
        return { event_id: verifier.head().event_id + 1, problem: `it cannot be read (${(error as Error).message}).` }
      }
      return verifier.end()
    }
  },
})
