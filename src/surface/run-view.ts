import { faults } from '../faults/catalogue.ts'
import type { RunView } from '../observation/session-state.ts'
import type { Backend } from './backend.ts'
import type { SessionView } from './session-views.ts'

/** A run with the view of its session. */
export interface FoundRun {
  readonly view: SessionView
  readonly run: RunView
  readonly session_id: string
}

/** A run and the session it belongs to, without opening anything that works. */
export async function findRun({ views }: Backend, run_id: string): Promise<FoundRun> {
  const session_id = await views.sessionOf('run', run_id)
  const view = await views.of(session_id)
  const run = view.state.runs.get(run_id)
  if (run === undefined) throw faults.not_found({ what: 'run', id: run_id })
  return { view, run, session_id }
}

/** The questions that a run has open, oldest first. */
export function openQuestions({ view, run }: FoundRun): readonly string[] {
  return [...view.state.interactions.values()].flatMap(({ run_id, state, interaction_id }) =>
    run_id === run.run_id && state === 'open' ? [interaction_id] : [],
  )
}
