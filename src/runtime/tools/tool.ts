import type { z } from 'zod'
import type { Json } from '../../kernel/json.ts'
import type { KeyScope } from '../../runes/kinds.ts'

/**
 * A tool as a developer declares it. Whether it is irreversible, may be repeated or needs approval is read from here,
 * never from what a model wrote.
 *
 * The functions are written as methods so that tools of different inputs fit into one list. Only `readCall` makes
 * arguments, and it makes them by `input`.
 */
export interface Tool<I extends z.ZodType = z.ZodType> {
  /** Letters, digits, `_` and `-`, in parts joined by dots, such as `payments.refund`. Unique for an agent. */
  readonly name: string
  /** A description for the model: its effect and when to use it. Default: empty. */
  readonly description: string
  /** A zod schema. The model gets it as JSON Schema, and `run` gets the parsed value. Unfit arguments fail the call. */
  readonly input: I
  /** The JSON Schema that the model gets instead of the one made from `input`. */
  readonly inputSchema?: Readonly<Record<string, Json>>
  /**
   * The version of the service or code behind `run`, if it can change while this definition stays the same. It is part
   * of the digest that a person approves, so a new version makes open approvals void.
   */
  readonly version?: string
  /** The action cannot be undone: it starts at most once per key. Excludes `readOnly`. Default: false. */
  readonly irreversible: boolean
  /** Repeating the action with the same key has no further effect: a lost call is repeated. Default: as `readOnly`. */
  readonly idempotent: boolean
  /** The action changes nothing outside: a lost call is repeated. Default: false. */
  readonly readOnly: boolean
  /** `always`: a person approves each call. `never`: no person is asked. `inherit`, the default: the policy decides. */
  readonly approval: 'inherit' | 'always' | 'never'
  /** The time limit in ms: `context.signal` aborts and the call ends. Questions do not count. Default: 120000. */
  readonly timeoutMs: number
  /** The result of the tool is the result of the run: no model is asked after the call completed. Default: false. */
  readonly endsTurn: boolean
  /** The call may run at the same time as other calls of the same answer. Default: as `readOnly`. */
  readonly parallel: boolean
  /** A longer output is cut for the model; `sw.output(ref)` returns all of it. At least 256. Default: 64000. */
  readonly maxOutputBytes: number
  /** Returns the name of the action: calls with the same name are the same action. Default: all arguments. */
  key?(args: z.output<I>): string
  /** Whether the key names one action per session, or one in the whole store (`global`). Default: `session`. */
  readonly keyScope: KeyScope
  /** With false, every call is an action of its own, also with equal arguments. Default: true. */
  readonly dedupe: boolean
  /**
   * Asks the outside whether the action with this key happened. It is called before a person is asked when the outcome
   * is unknown. Return `cannot_tell` if the other side does not know; a person is asked then.
   */
  probe?(key: string, args: z.output<I>, signal: AbortSignal): Promise<Probed>
  /**
   * The meaning of an error of an irreversible tool. `unknown`, the default: the probe is asked whether the action
   * happened, then a person; only `DidNotHappen` means that it failed. `failed`: a throw means that nothing happened.
   */
  readonly onError: 'unknown' | 'failed'
  /** Does the work and returns JSON. A thrown error is a failure or leaves the outcome open: see `onError`. */
  run(args: z.output<I>, context: ToolContext): Promise<Json> | Json
}

/** The result of a probe. */
export type Probed =
  /** It happened. `result` is what the action returned. */
  | { readonly outcome: 'happened'; readonly result?: Json }
  | { readonly outcome: 'did_not' }
  | { readonly outcome: 'cannot_tell' }

/** The answer to a question. `silence`: no person answered, or this run may not ask a person. */
export type Asked =
  /** `is_default`: no person answered; the defaults were taken after a timeout, or because no one may be asked. */
  | { readonly action: 'approve' | 'edit'; readonly data?: Readonly<Record<string, Json>>; readonly is_default?: true }
  /** A person said no. */
  | { readonly action: 'reject'; readonly reason?: string }
  | { readonly action: 'silence' }

/** The second argument of `run`: ids, signal, and ways to report and to ask. */
export interface ToolContext {
  /** The same for every attempt at the same action: hand it to the service you call. */
  readonly idempotencyKey: string
  /** The session of the call. */
  readonly sessionId: string
  /** The run of the call. */
  readonly runId: string
  /** The call, as the model made it. */
  readonly callId: string
  /** The contract of the call. It stays the same when the call is repeated after its worker was lost. */
  readonly executionId: string
  /** Fires on timeout, on cancel, and when the lease of the worker ends. After a cancel there is `cancelGraceMs` left to end. */
  readonly signal: AbortSignal
  /**
   * Puts a form, a confirmation or a display to a person while the tool is at work, and waits for the answer; the time
   * does not count towards the timeout. `signal` withdraws the question, and so does the end of the call.
   */
  readonly ask: (request: Json, signal?: AbortSignal) => Promise<Asked>
  /** Reports output while the tool works. It is recorded and streamed as `tool.progress`. */
  readonly progress: (chunk: string, stream?: 'stdout' | 'stderr' | 'message') => void
  /**
   * Takes registered secrets out of a text, as is done with every result, error and report of a tool. Call it before
   * you cut a text, since half a secret is not found. Of a text that is cut already (`isCut`), a possible beginning of
   * a secret at its end is left out.
   */
  readonly redact: (text: string, isCut?: boolean) => Promise<string>
}

/**
 * A tool throws this when it knows that its action did not happen: the call has failed, and may be made again. Any
 * other error of an irreversible tool leaves its outcome unknown. So does an error with `outcomeUnknown: true` of every
 * tool that may not be repeated. The runtime reads the mark `didNotHappen: true` and not the class.
 */
export class DidNotHappen extends Error {
  override readonly name = 'DidNotHappen'
  /** The mark that the runtime reads, also on errors of other classes. */
  readonly didNotHappen = true
}
