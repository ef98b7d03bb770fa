import type { z } from 'zod'
import type { Json } from '../../kernel/json.ts'

/**
 * What a developer declares about a tool. Whether it is irreversible, may be repeated, needs approval: all of that is
 * read from here and never from what a model wrote.
 *
 * The functions are written as methods so that tools of different inputs fit into one list. Only `readCall` makes
 * arguments, and it makes them by `input`.
 */
export interface Tool<I extends z.ZodType = z.ZodType> {
  readonly name: string
  readonly description: string
  readonly input: I
  /** The JSON Schema for the model, where someone else wrote it and it must stay word for word. */
  readonly inputSchema?: Readonly<Record<string, Json>>
  /** What stands behind `run`, where that can change by itself. An approval does not outlive it. */
  readonly version?: string
  /** A success cannot be undone: it is started at most once per key. */
  readonly irreversible: boolean
  /** Doing it again with the same key does nothing more: it may be repeated when its outcome is unknown. */
  readonly idempotent: boolean
  /** It changes nothing outside. */
  readonly readOnly: boolean
  readonly approval: 'inherit' | 'always' | 'never'
  readonly timeoutMs: number
  /** Its result is the result of the run: no model is asked after it has completed. */
  readonly endsTurn: boolean
  /** It may run together with other calls of the same answer. */
  readonly parallel: boolean
  readonly maxOutputBytes: number
  /** What makes two calls the same action, where all arguments would be too many. */
  key?(args: z.output<I>): string
  readonly keyScope: 'session' | 'global'
  /** Two calls with the same arguments are the same action. If not, every call is an action of its own. */
  readonly dedupe: boolean
  /** Asks the outside whether the action with this key happened. */
  probe?(key: string, args: z.output<I>, signal: AbortSignal): Promise<Probed>
  /**
   * What an error of an irreversible tool means. `unknown`: the action may have happened, so the probe is asked, then a
   * person; only `DidNotHappen` means that it failed. `failed`: the tool throws only if the action did not happen.
   */
  readonly onError: 'unknown' | 'failed'
  /** Does the work. A thrown error is a failure, or leaves the outcome unknown: see `onError` and `DidNotHappen`. */
  run(args: z.output<I>, context: ToolContext): Promise<Json> | Json
}

/** What a probe found out. */
export type Probed =
  | { readonly outcome: 'happened'; readonly result?: Json }
  | { readonly outcome: 'did_not' }
  | { readonly outcome: 'cannot_tell' }

/** The answer to a question. `silence`: no person answered, or none may be asked. */
export type Asked =
  /** `is_default`: no person answered; the defaults were taken after a timeout, or because no one may be asked. */
  | { readonly action: 'approve' | 'edit'; readonly data?: Readonly<Record<string, Json>>; readonly is_default?: true }
  | { readonly action: 'reject'; readonly reason?: string }
  | { readonly action: 'silence' }

/** What a tool gets besides its input. */
export interface ToolContext {
  /** The same for every attempt at the same action: hand it to the service you call. */
  readonly idempotencyKey: string
  readonly sessionId: string
  readonly runId: string
  readonly callId: string
  readonly executionId: string
  /** Fires on timeout, on cancel, and when the lease of the worker ends. After a cancel there is `cancelGraceMs` left to end. */
  readonly signal: AbortSignal
  /**
   * Puts a form, a confirmation or a display to a person while the tool is at work, and waits for the answer; the time
   * does not count towards the timeout. `signal` takes the question back, and so does the end of the call.
   */
  readonly ask?: (request: Json, signal?: AbortSignal) => Promise<Asked>
  readonly progress: (chunk: string, stream?: 'stdout' | 'stderr' | 'message') => void
  /**
   * Takes registered secrets out of a text, as is done to everything a tool returns, throws and reports. Call it before
   * you cut a text, since half a secret is not found; of a text that is cut already (`isCut`), a possible beginning of a
   * secret at its end is left out.
   */
  readonly redact: (text: string, isCut?: boolean) => Promise<string>
}

/**
 * A tool throws this when it knows that its action did not happen: the call has failed, and may be made again. Any other
 * error of an irreversible tool leaves its outcome unknown, and an error with `outcomeUnknown: true` does so for every
 * tool that may not be repeated. The runtime reads the mark `did_not_happen: true` and not the class.
 */
export class DidNotHappen extends Error {
  override readonly name = 'DidNotHappen'
  // biome-ignore lint/style/useNamingConvention: the mark is read by its name, also on errors of other classes
  readonly did_not_happen = true
}
