import { createDeltaGate } from '../observation/delta-gate.ts'
import type { Rune } from '../runes/rune.ts'
import type { EphemeralDelta } from '../runtime/delta.ts'
import type { Asked } from '../runtime/dispatch/dispatcher.ts'
import type { Given } from '../wire/endpoint.ts'
import type { Backend } from './backend.ts'
import { bundleLines } from './bundle.ts'
import { carryOut, type Operation, readRequest } from './operation.ts'

/** How the command line reaches operations: on the store itself, or through a server. Both answer alike. */
export interface Client {
  call<P, Q, B, R>(operation: Operation<P, Q, B, R>, given: Given<P, Q, B>): Promise<R>
  /** Streams every rune after the cursor, in order and exactly once, live; and text that is not recorded yet. */
  follow(session_id: string, after: number, signal: AbortSignal): AsyncIterable<Received>
  /** A session as a file that proves itself, line by line, each with its end. */
  bundle(session_id: string): Promise<AsyncIterable<string>>
  /** A server answers. It takes runs by itself. */
  readonly isServed: boolean
  /** Lets this process take the run, session or goal that is named, and nothing else. Undefined if it cannot work. */
  readonly workOn?: (asked: Asked) => Promise<void>
  /** Resolves when nothing is left to work on here. Undefined where another process may work on the store. */
  readonly idle?: () => Promise<void>
  close(): Promise<void>
}

/** A message to a follower of a session. */
export type Received =
  | { readonly type: 'rune'; readonly rune: Rune }
  | { readonly type: 'delta'; readonly delta: EphemeralDelta }

/** Answers from the store that this process has open, with what a server would have answered. */
export function localClient(backend: Backend, close: () => Promise<void>): Client {
  return {
    isServed: false,
    async call(operation, { params = {}, query = {}, body, idempotency_key = null }) {
      const asked = readRequest(operation, { params, query, body, idempotency_key, by: 'human', scope: 'admin' })
      return (await carryOut(operation, backend, asked)).answer
    },

    async *follow(session_id, after, signal) {
      const received: Received[] = []
      let bell = Promise.withResolvers<void>()
      const ring = () => bell.resolve()
      const gate = createDeltaGate()
      const unsubscribe = backend.listen(session_id, (delta) => {
        if (!gate.passes(delta)) return
        received.push({ type: 'delta', delta })
        ring()
      })
      let isOver = false
      const following = (async () => {
        for await (const rune of backend.runelog.follow(session_id, after, signal)) {
          gate.note(rune)
          received.push({ type: 'rune', rune })
          ring()
        }
      })().finally(() => {
        isOver = true
        ring()
      })
      try {
        for (;;) {
          for (let next = received.shift(); next !== undefined; next = received.shift()) yield next
          if (isOver) return await following
          bell = Promise.withResolvers<void>()
          if (received.length === 0 && !isOver) await bell.promise
        }
      } finally {
        unsubscribe()
        following.catch(() => {})
      }
    },

    bundle: (session_id) => bundleLines(backend, session_id),
    close,
  }
}
