import type { z } from 'zod'
import type { Json } from '../../kernel/json.ts'

/**
 * A tool as a developer declares it. Whether it is irreversible, may be repeated or needs approval is read from here,
 * never from what a model wrote.
 *
 * The functions are written as methods so that tools of different inputs fit into one list. Only `readCall` makes
 * arguments, and it makes them by `input`.
 */
export interface Tool<I extends z.ZodType = z.ZodType> {
  /** Letters, digits, underscores and hyphens, in parts that are joined by dots, as in `payments.refund`. */
  readonly name: string
  /** Tells the model what the tool does. */
  readonly description: string
  /** The shape of the arguments: an object of plain JSON. Arguments that do not fit are refused before `run`. */
  readonly input: I
  /** Sent to the model instead of the schema of `input`, for a schema that another program wrote. */
  readonly inputSchema?: Readonly<Record<string, Json>>
  /** The version of the service or program that `run` calls. An approval of one version is void for another. */
  readonly version?: string
  /** A success cannot be undone: it is started at most once per key. */
  readonly irreversible: boolean
  /** Doing it again with the same key does nothing more: it may be repeated when its outcome is unknown. */
  readonly idempotent: boolean
  /** It changes nothing outside. */
  readonly readOnly: boolean
  /** Whether a person approves each call. With `inherit`, the policy decides. */
  readonly approval: 'inherit' | 'always' | 'never'
  /** How long one call may take. The time that it waits for a person does not count. */
  readonly timeoutMs: number
  /** Its result is the result of the run: no model is asked after it has completed. */
  readonly endsTurn: boolean
  /** It may run together with other calls of the same answer. */
  readonly parallel: boolean
  /** A longer output is kept whole by reference, and the model gets its beginning. */
  readonly maxOutputBytes: number
  /** Returns what identifies the action, such as an order number. Without it, all arguments do. */
  key?(args: z.output<I>): string
  /** Whether the same action in another session is another action (`session`), or the same one (`global`). */
  readonly keyScope: 'session' | 'global'
  /** Whether two calls with the same key are one action. If false, every call is an action of its own. */
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

/** The second argument of `run`: ids, signal, and ways to report and to ask. */
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
  /** Reports progress. Reports are recorded in larger pieces, up to a limit. The default stream is `message`. */
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
