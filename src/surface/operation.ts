import type { z } from 'zod'
import type { RecordedRequest } from '../runelog/models/requests.ts'
import type { Desk } from './desk.ts'

/** What a token allows. Each one allows what stands before it, too. */
export const scopes = ['read', 'operate', 'approve', 'admin'] as const

export type Scope = (typeof scopes)[number]

export function allows(has: Scope, needs: Scope): boolean {
  return scopes.indexOf(has) >= scopes.indexOf(needs)
}

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
  /** What it brings about is found again by its key in the log itself, also after a crash; no answer need be kept. */
  readonly key_is_recorded?: true
  /** It erases content. No answer that was kept before it is given again. */
  readonly erases?: true
  /**
   * For answers that are asked for again and again: what the answer follows
   * from, and the answer if it is wanted. While the revision is the same, so is
   * the answer: one with durations that grow has the time in it. Served as an ETag.
   */
  look?(desk: Desk, asked: Asked<P, Q, B>): Promise<Seen<R>>
  run(desk: Desk, asked: Asked<P, Q, B>): Promise<R>
  /**
   * Answers a command whose key was recorded before, as it was answered then, and finishes what a crash left of it.
   * Without this it is run again: its own ids follow from the key, so that it finds what it made.
   */
  repeat?(desk: Desk, asked: Asked<P, Q, B>, recorded: RecordedRequest): Promise<R>
}

export interface Seen<R> {
  readonly revision: string
  answer(): R | Promise<R>
}

export interface Asked<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  /** The same key makes the same request: what it brings about is brought about once. */
  readonly idempotency_key: string | null
  /** Who asks: the name of a token, or `human` where nobody had to say. */
  readonly by: string
  /** What they may ask for. */
  readonly scope: Scope
}

/** Keeps the types of its parts together. */
export function defineOperation<P, Q, B, R>(operation: Operation<P, Q, B, R>): Operation<P, Q, B, R> {
  return operation
}

/** An operation that only looks, declared by how it looks. */
export function defineLook<P, Q, B, R>(
  operation: Omit<Operation<P, Q, B, R>, 'run' | 'look'> & Required<Pick<Operation<P, Q, B, R>, 'look'>>,
): Operation<P, Q, B, R> {
  return { ...operation, run: async (desk, asked) => (await operation.look(desk, asked)).answer() }
}
