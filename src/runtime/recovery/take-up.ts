import type { Engine } from '../engine.ts'
import { readThrown } from '../thrown.ts'

/** What no run asked is for those beside the runs. The answer is recorded: if they fail, the next process goes on. */
export function takeUp(engine: Engine, session_id: string) {
  engine.beside
    .takeUp(session_id)
    .catch((error) =>
      engine.warn('an answer could not be acted on yet', { session_id, error: readThrown(error).message }),
    )
}
