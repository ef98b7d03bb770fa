import { setTimeout as pause } from 'node:timers/promises'
import { accepted, type FaultOf, faults, isFault } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import type { SessionState } from '../observation/session-state.ts'
import { rowName } from '../runelog/judge.ts'
import { subjects } from '../runelog/models.ts'
import type { Refused } from '../runelog/port.ts'
import { othersTurn } from '../runelog/slices.ts'
import type { Rune } from '../runes/rune.ts'
import { type Batch, createBatch } from './batch.ts'
import type { Engine } from './engine.ts'

/** The runes to record in a session. Without a batch nothing is recorded, and `answer` gets no runes. */
interface Decision<A> {
  readonly batch?: Batch
  /** Subjects that the decision read without moving them. */
  readonly read?: readonly string[]
  readonly answer: (runes: readonly Rune[]) => A
}

type Decide<A> = (state: SessionState) => Decision<A> | Promise<Decision<A>>

/** Give up after this many lost races: a session has few writers, so another client keeps writing to it. */
const raceTries = 20

/** Most races are won at the second try, so the first retries do not wait. */
const atOnce = 3

const longestWaitMs = 50

/**
 * Loads the session, decides, and appends on the condition that the subjects it read have not moved. A decision that
 * loses a race is decided again on the new state; after 20 losses it is refused as `contended`. A command holds no
 * lease and carries no fence.
 */
export async function decideAndAppend<A>(
  engine: Pick<Engine, 'runelog' | 'sessions' | 'preserving' | 'isAlone' | 'random'>,
  session_id: string,
  decide: Decide<A>,
): Promise<A | Refused> {
  let stale: string | undefined
  for (let lost = 0; lost < raceTries; lost++) {
    await backOff(engine, lost)
    const state = await engine.sessions.load(session_id)
    await engine.preserving.touch(state)
    const looked = state.event_id
    let decision: Decision<A> | undefined
    let refusal: unknown
    try {
      decision = await decide(state)
    } catch (error) {
      refusal = error
    }
    // Other runes were folded while `decide` ran, so its expected versions are stale and its refusal may be, too.
    // That counts as a lost race. Decide again.
    if (state.event_id !== looked) continue
    if (decision === undefined) throw refusal
    const { batch, read = [], answer } = decision
    if (batch === undefined) return answer([])
    const seen = Object.fromEntries(read.map((id) => [id, state.subjects.get(id)?.version ?? 0]))
    const expect = { ...seen, ...Object.fromEntries(batch.moved) }
    const recorded = await engine.sessions.commit(state, batch, { expect })
    if (!(recorded instanceof Fault)) return answer(recorded)
    if (!isFault(recorded, 'stale_write')) return recorded
    refuseDamage(recorded)
    stale = recorded.details.subject_id
    await engine.sessions.refresh(state)
  }
  if (stale !== undefined) await refuseAhead(engine, session_id, stale)
  return faults.contended({ session_id, tries: raceTries })
}

/** Versions only rise. A row with a lower version than the log shows lost no race: it is damaged, and every retry ends here. */
export function refuseDamage({ details: { subject_id, expected, actual } }: FaultOf<'stale_write'>) {
  if (actual >= expected) return
  const problem = `it has version ${actual}, and its log has version ${expected}.`
  throw faults.store_damaged({ what: `row ${rowName(subjects.name, subject_id)}`, problem })
}

/** A row of an event that its log does not have lost no race either: the log was cut off. */
async function refuseAhead(
  { runelog, sessions }: Pick<Engine, 'runelog' | 'sessions'>,
  session_id: string,
  id: string,
) {
  const row = (await runelog.row(subjects, id))?.value
  const state = await sessions.load(session_id)
  // The event of the row was recorded before the row could be read.
  await sessions.refresh(state)
  if (row?.session_id !== session_id || row.event_id <= state.event_id) return
  const problem = `a row follows from it, and the log ends with event ${state.event_id}.`
  throw faults.store_damaged({ what: `${session_id} event ${row.event_id}`, problem })
}

/** As `decideAndAppend`, for a command: a refusal of the log is thrown as the refusal of the command. */
export async function attempt<A>(engine: Engine, session_id: string, decide: Decide<A>): Promise<A> {
  return accepted(await decideAndAppend(engine, session_id, decide))
}

/** Like `attempt`, but `write` fills the batch. An empty batch records nothing. */
export function change<A>(engine: Engine, session_id: string, write: (batch: Batch) => A | Promise<A>): Promise<A> {
  return attempt(engine, session_id, async (state) => {
    const batch = createBatch(state, engine.clock.now())
    const answered = await write(batch)
    return { ...(batch.runes.length > 0 && { batch }), answer: () => answered }
  })
}

/**
 * Lets other writers finish first, with a random wait, so that the losers do not race again together. Writers of this
 * process need turns of the event loop. Writers of other processes need real time, up to 1, 2, 4 … 50 ms. This does not
 * use the clock of the runtime: no state depends on the wait.
 */
export async function backOff({ isAlone, random }: Pick<Engine, 'isAlone' | 'random'>, lost: number): Promise<void> {
  if (lost < atOnce) return
  const most = Math.min(2 ** (lost - atOnce), longestWaitMs)
  if (!isAlone) return pause(Math.ceil(most * random()))
  for (let turns = Math.ceil(most * random()); turns > 0; turns--) await othersTurn()
}
