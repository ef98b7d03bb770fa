import type { Json } from '../kernel/json.ts'
import type { Problem } from '../kernel/problem.ts'

/**
 * What lives in sessions beside runs and acts on answers of its own, such as
 * plans. The runtime records the answers and says that they are there.
 */
export interface Beside {
  /** Holds the answers to a pack of questions against the questions. What comes back is what is recorded. */
  checkPack(request: Json, reply: Json): { readonly reply: Json } | { readonly problems: readonly Problem[] }
  /**
   * Something in this session was answered, or was left in the middle of its work. Resolves when it is at rest. False:
   * this process leaves before that, and others have to take it up.
   */
  takeUp(session_id: string): Promise<boolean>
  /** The session is being closed: whatever lives in it comes to an end of its own before the log is sealed. */
  end(session_id: string, reason: string): Promise<void>
}

export const nothingBeside: Beside = {
  checkPack: () => ({
    problems: [{ pointer: '', problem: 'This process cannot take answers to a pack of questions.' }],
  }),
  takeUp: async () => true,
  end: async () => {},
}
