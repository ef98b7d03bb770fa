import type { Rune } from '../runes/rune.ts'
import type { Asked } from '../runtime/assignment.ts'
import type { EphemeralDelta } from '../runtime/engine.ts'
import type { Operation } from './operation.ts'

/** How the command line reaches operations: on the store itself, or through a server. Both answer alike. */
export interface Client {
  call<P, Q, B, R>(operation: Operation<P, Q, B, R>, given: Given<P, Q, B>): Promise<R>
  /** Everything after a cursor, without gap or duplicate, live; and text that is not durable yet. */
  follow(session_id: string, after: number, signal: AbortSignal): AsyncIterable<Heard>
  /** A server answers, which works by itself. */
  readonly isServed: boolean
  /** Where this process works itself: carries out what is asked for, and nothing else. A server works by itself. */
  readonly workOn?: (asked: Asked) => Promise<void>
  close(): Promise<void>
}

/** What a call gives: raw values, which the schemas of the operation check. */
export interface Given<P, Q, B> {
  readonly params?: P
  readonly query?: Partial<Q>
  readonly body?: B
  readonly idempotency_key?: string
}

/** What a follower of a session receives. */
export type Heard =
  | { readonly type: 'rune'; readonly rune: Rune }
  | { readonly type: 'delta'; readonly delta: EphemeralDelta }
