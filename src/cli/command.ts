import type { Fault } from '../faults/fault.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { Json } from '../kernel/json.ts'
import type { Damage } from '../runelog/damage.ts'
import type { Runelog } from '../runelog/port.ts'
import type { Stray } from '../runelog/stray.ts'
import type { CheckSignature, Signer } from '../runes/checkpoint.ts'
import type { Rune } from '../runes/rune.ts'
import type { AbandonedRun } from '../runtime/shared-store.ts'
import type { Client } from '../surface/client.ts'

import type { Planning } from './planning.ts'

/** A command is a value. It prints through `io` and returns its exit code; it never exits by itself. */
export interface Command {
  readonly name: string
  readonly usage: string
  readonly summary: string
  readonly options: Readonly<Record<string, Option>>
  run(args: Arguments, io: Io): Promise<number>
}

export interface Option {
  readonly type: 'boolean' | 'string'
  readonly short?: string
  readonly summary: string
}

export interface Arguments {
  readonly positionals: readonly string[]
  readonly values: Readonly<Record<string, string | boolean | undefined>>
}

export interface Io {
  /** One line, or several, to standard output: what was asked for. */
  readonly out: (text: string) => void
  /** To standard error: what went wrong, and hints. */
  readonly err: (text: string) => void
  /** To standard output without an end of line: text as it comes. */
  readonly write: (text: string) => void
  readonly terminal: Terminal
  /** What one types to call this command line. */
  readonly program: string
  /** Another command in this process, with this output or another. Resolves with its exit code. */
  readonly command: (args: readonly string[], changes?: Partial<Io>) => Promise<number>
  readonly host: Host
}

export interface Terminal {
  /** Someone sits at it. Where nobody does, nothing is ever asked. */
  readonly isInteractive: boolean
  /** Standard output is a terminal: a person sees what is printed, and no log keeps it. */
  readonly isScreen: boolean
  readonly hasColor: boolean
  readonly width: number
  /** One line from whoever sits there, or undefined if the input has ended or the question is taken back. */
  ask(question: string, signal?: AbortSignal): Promise<string | undefined>
}

/** What commands need from the machine. `main` fills it. */
export interface Host {
  readonly sha256: Sha256
  readonly now: () => number
  readonly checkSignature: CheckSignature
  /**
   * Opens a store that exists: `sqlite:FILE` or `postgres://…`; without a name, the one the environment names. To look
   * at one needs no write access.
   */
  readonly openStore: (url: string | undefined, use: 'look' | 'change') => Promise<Store>
  /** Reaches the operations: through the server that is named or that holds the store, or on the store itself. */
  readonly openClient: (where: Where, use: Use) => Promise<Client>
  /** Whether there is a config to work with: the one that was named, or the usual one. */
  readonly hasConfig: (named: string | undefined) => Promise<boolean>
  /** A session as a file that proves itself, by its id or the beginning of it. */
  readonly openBundle: (where: Where, given: string) => Promise<Bundle>
  /** Looks at everything that could be in the way. */
  readonly examine: (where: Where) => Promise<readonly Finding[]>
  /** Copies a store into a new folder. */
  readonly backUp: (url: string | undefined, folder: string) => Promise<BackedUp>
  /** Begins to work as a config file says; without a name, the one in this folder. */
  readonly startWorker: (where: Pick<Where, 'store' | 'config'>, io: WorkingIo) => Promise<Working>
  readonly planning: Planning
  /** Reaches the plans of a store, which need no config. What judges them, unless a server does, may be named. */
  readonly openPlans: (where: Where, asked: PlanAsked) => Promise<Client>
  readonly playDemo: (io: Io, options: DemoOptions) => Promise<number>
  /**
   * Calls back each time someone presses Ctrl-C, or asks the process to leave (SIGTERM), instead of ending it. Returns
   * the way to stop listening.
   */
  readonly onInterrupt: (listener: (asked?: 'leave') => void) => () => void
  /** Calls back once a second. Returns the way to stop. */
  readonly everySecond: (listener: () => void) => () => void
  /** Serves a store over HTTP as a config file says. */
  readonly startServer: (asked: ServingOptions, io: WorkingIo) => Promise<Serving>
  /** Does the work, and waits for it no longer than this. What goes wrong with it is not told. */
  readonly within: (ms: number, work: () => Promise<unknown>) => Promise<void>
  /** Resolves with the name of the signal that asks this process to end. */
  readonly untilTold: () => Promise<string>
}

/** What the command line says about where things are; what it leaves open, the environment and the config say. */
export interface Where {
  readonly server: string | undefined
  readonly store: string | undefined
  readonly config: string | undefined
}

export interface PlanAsked {
  readonly registry?: string
  readonly policy?: Json
  readonly signing_key?: string
  /** Makes the store if there is none. */
  readonly creates: boolean
}

/**
 * What is done on a store that no server holds: look at it; act, which needs
 * the config and recovers the session that it acts on; or also carry out what the
 * command asks for.
 */
export type Use = 'look' | 'act' | 'work'

/** The lines of an export, each with its end, as they come. */
export interface Bundle {
  readonly session_id: string
  readonly lines: AsyncIterable<string>
  close(): Promise<void>
}

export interface BackedUp {
  /** How the copy is named. */
  readonly store: string
  /** Why the copy has no key although the store had one. */
  readonly key_problem: string | null
}

export interface Finding {
  readonly what: string
  readonly verdict: 'good' | 'odd' | 'bad'
  readonly says: string
  /** What to do about it. */
  readonly fix: string | null
}

export interface DemoOptions {
  /** A folder to keep the data of this play in; without one, a new temporary folder. */
  readonly folder: string | undefined
  /** Nobody is asked: the demo answers its own questions. */
  readonly answersItself: boolean
}

export interface WorkingIo {
  /** Each rune that the worker records. */
  readonly tell: (rune: Rune) => void
  readonly warn: (text: string) => void
}

export interface Working {
  readonly agents: readonly string[]
  readonly max_concurrent_runs: number
  /** Other processes may work on the store too. */
  readonly is_shared: boolean
  /** Resolves when the store takes nothing more from this process, which then has to begin anew. */
  readonly broken: Promise<Fault>
  /** Lets go of every run at its next boundary. */
  stop(): Promise<void>
}

export interface ServingOptions extends Pick<Where, 'store' | 'config'> {
  readonly host: string | undefined
  readonly port: number | undefined
  /** More names that the server answers to. */
  readonly hosts: readonly string[]
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  /** Log what goes wrong, and not every request. */
  readonly is_quiet: boolean
  /** Something in front of the server encrypts. */
  readonly allow_plain_http: boolean
}

export interface Serving extends Working {
  /** Where it can be reached, such as `http://127.0.0.1:4400`. */
  readonly url: string
  /** Where the token is kept; null if it ends with the process. */
  readonly token_file: string | null
  /** Only if it was made just now: nobody has seen it yet. */
  readonly new_token: string | null
}

export interface Store {
  readonly runelog: Runelog
  /** The key that belongs to the store; made on first use. */
  readonly signer: () => Signer
  /** The public half of that key; undefined if there is none yet. Nothing is made. */
  readonly publicKey: () => string | undefined
  /** Runs that are running and that no process has. */
  readonly abandoned: () => Promise<readonly AbandonedRun[]>
  /** Files beside the store that it does not refer to. */
  readonly strays: () => Promise<readonly Stray[]>
  /** Removes one of them. */
  readonly discard: (stray: Stray) => Promise<void>
  /** What does not follow from the log: rows, outputs, files. */
  readonly damages: () => AsyncIterable<Damage>
}
