import type { Fault } from '../faults/fault.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { Runelog } from '../runelog/port.ts'
import type { CheckSignature, Signer } from '../runes/checkpoint.ts'
import type { Rune } from '../runes/rune.ts'

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
  readonly host: Host
}

/** What commands need from the machine. `main` fills it. */
export interface Host {
  readonly sha256: Sha256
  readonly now: () => number
  readonly checkSignature: CheckSignature
  /** Opens a store that exists: `sqlite:FILE` or `postgres://…`; without a name, the one the environment names. */
  readonly openStore: (url: string | undefined) => Promise<Store>
  /** Begins to work as a config file says; without a name, the one in this folder. */
  readonly startWorker: (config: string | undefined, io: WorkingIo) => Promise<Working>
  /** Serves a store over HTTP as a config file says. */
  readonly startServer: (asked: ServingOptions, io: WorkingIo) => Promise<Serving>
  /** Resolves with the name of the signal that asks this process to end. */
  readonly untilTold: () => Promise<string>
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

export interface ServingOptions {
  readonly config: string | undefined
  readonly host: string | undefined
  readonly port: number | undefined
  /** More names that the server answers to. */
  readonly hosts: readonly string[]
  readonly tls: { readonly cert: string; readonly key: string } | undefined
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
}

/** What the process says to the shell. */
export const exits = { ok: 0, failed: 1, usage: 2 } as const
