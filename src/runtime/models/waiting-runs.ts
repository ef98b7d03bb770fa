import type { ReadModel } from '../../runelog/read-model.ts'

type WaitingRun = { readonly agent: string; readonly session_id: string }

/**
 * Which agent works on a run. Runs are listed under its name while they wait for a person: a start finds out which
 * agents have waiting runs without looking at each run.
 */
export const waitingRuns: ReadModel<WaitingRun> = {
  name: 'waiting_runs',
  version: 2,
  keys: (rune) =>
    rune.machine === 'run' && rune.subject_id !== undefined && rune.from !== rune.to ? [rune.subject_id] : [],
  fold(row, rune, key) {
    const known = row?.value
    const value = rune.kind === 'run.submitted' ? { agent: rune.payload.agent, session_id: rune.session_id } : known
    if (value === undefined) return row
    const tag = rune.to === 'waiting_user' ? value.agent : null
    return known !== undefined && tag === row?.tag ? row : { key, tag, sort: rune.at, value }
  },
}
