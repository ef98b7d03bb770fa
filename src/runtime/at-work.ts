/**
 * Tools that were called and have not returned. A call may have been given up long ago, by its timeout, by a cancel or
 * by the loss of its lease: until its tool returns, the tool may act. Every process that works on a store has to see
 * the same, since any of them may be told that the action did not happen.
 */
export interface AtWork {
  /**
   * Records that a tool is about to be called, right before it is. False: the
   * lease of the run is over, and the tool must not be called.
   */
  begin(effect: Effect): Promise<boolean>
  /** The tool has returned. A tool that was not called ends as `threw`. */
  end(execution_id: string, end: EffectEnd): void
  /** Whether the tool of an execution may still act, in any process. */
  look(execution_id: string): Promise<Evidence>
  /** Executions at work in this process that cannot be undone. */
  here(): readonly string[]
}

export interface Effect {
  readonly execution_id: string
  readonly run_id: string
  readonly epoch: number
  readonly irreversible: boolean
}

export interface EffectEnd {
  /** `threw` says nothing about what happened. */
  readonly how: 'returned' | 'threw'
  /** The call had been given up: no holder records its outcome. */
  readonly isLate: boolean
}

export type Evidence =
  /** It never began, or it has ended. */
  | { readonly state: 'none' }
  /** Its worker says that it returned without an error: it happened. */
  | { readonly state: 'done' }
  /** `worker` is null for this process. `isGone`: the store shows that the worker cannot act any more. */
  | { readonly state: 'at_work'; readonly worker: string | null; readonly isGone: boolean }

/** For a store that one process owns: when the process dies, so does every tool in it. */
export function atWorkHere(): AtWork {
  const atWork = new Map<string, Effect>()
  return {
    async begin(effect) {
      atWork.set(effect.execution_id, effect)
      return true
    },
    end(execution_id) {
      atWork.delete(execution_id)
    },
    async look(execution_id) {
      return atWork.has(execution_id) ? { state: 'at_work', worker: null, isGone: false } : { state: 'none' }
    },
    here: () => [...atWork.values()].flatMap((effect) => (effect.irreversible ? [effect.execution_id] : [])),
  }
}
