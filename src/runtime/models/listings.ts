import type { SessionState } from '../../machines/session.ts'
import { visible } from '../../observation/visible.ts'
import type { FoldableRune, ReadModel } from '../../runelog/read-model.ts'
import { blank, moveOf, type Summary, statusOf } from './summaries.ts'

/** What a session is listed under: its state, the status of its most urgent run, and the agent that last got work. */
type Listing = Pick<Summary, 'state' | 'open_runs' | 'last_run' | 'agent'>

/** The key of the row that is also listed by the agent. */
const byAgent = ':agent'

/**
 * Sessions by all that a list can be narrowed by, so that a page is read by the index however few sessions fit. Each
 * has two rows, one of them for lists of one agent; the one that last moved, or had a run that moved, is at the end.
 */
export const listings: ReadModel<Listing> = {
  name: 'listings',
  version: 1,
  keys: (rune) => (isListed(rune) ? [rune.session_id, `${rune.session_id}${byAgent}`] : []),
  fold(row, rune, key) {
    const { state, open_runs, last_run, agent } = row?.value ?? blank(rune)
    const seen = visible(rune)
    const after =
      seen === undefined ? { state, open_runs, last_run, agent } : moved({ state, open_runs, last_run, agent }, seen)
    const place = { state: after.state, status: statusOf(after) ?? 'none' }
    const tag = key.endsWith(byAgent) ? listingTag({ ...place, agent: after.agent ?? '' }) : listingTag(place)
    return { key, tag, sort: rune.at, value: after }
  },
}

/** The session that a row is about. */
export function sessionOfListing(key: string): string {
  return key.endsWith(byAgent) ? key.slice(0, -byAgent.length) : key
}

interface Place {
  readonly state: SessionState
  /** `none` before the first run. */
  readonly status: string
  readonly agent?: string
}

export function listingTag({ state, status, agent }: Place): string {
  return agent === undefined ? `${state}/${status}` : `${state}/${status}/${agent}`
}

function isListed({ machine, from, to }: FoldableRune): boolean {
  return machine === 'session' || (machine === 'run' && from !== to)
}

function moved(before: Listing, rune: FoldableRune): Listing {
  if (rune.machine === 'session') return { ...before, state: rune.to as SessionState }
  const { open_runs, last_run } = moveOf(before, rune)
  const agent = rune.kind === 'run.submitted' ? rune.payload.agent : before.agent
  return { state: before.state, open_runs, last_run, agent }
}
