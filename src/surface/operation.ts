import type { z } from 'zod'
import type { Desk } from './desk.ts'

/** What a token allows. Each one allows what stands before it, too. */
export const scopes = ['read', 'operate', 'approve', 'admin'] as const

export type Scope = (typeof scopes)[number]

/**
 * One thing that can be asked from outside, declared once: the server makes a
 * route of it, the OpenAPI document and the reference a section, the command
 * line calls it here or over HTTP, and tests exhaust the list.
 */
export interface Operation<P = unknown, Q = unknown, B = unknown, R = unknown> {
  /** In snake_case; unique. */
  readonly name: string
  readonly method: 'GET' | 'POST'
  /** `/api/sessions/{session_id}/pause` */
  readonly path: `/${string}`
  readonly scope: Scope
  readonly summary: string
  readonly params: z.ZodType<P>
  readonly query: z.ZodType<Q>
  /** Null where nothing is sent. */
  readonly body: z.ZodType<B> | null
  readonly returns: z.ZodType<R>
  /** It does not change while the program runs: served with an ETag and kept by caches. */
  readonly immutable?: true
  /**
   * What the answer follows from: while it is the same, so is the answer, but
   * for durations that grow with the clock. Served as an ETag.
   */
  revision?(desk: Desk, asked: Asked<P, Q, B>): Promise<string>
  run(desk: Desk, asked: Asked<P, Q, B>): Promise<R>
}

export interface Asked<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  /** The same key makes the same request: what it brings about is brought about once. */
  readonly idempotency_key: string | null
  /** Who asks: the name of a token, or `human` where nobody had to say. */
  readonly by: string
}

/** Keeps the types of its parts together. */
export function defineOperation<P, Q, B, R>(operation: Operation<P, Q, B, R>): Operation<P, Q, B, R> {
  return operation
}
