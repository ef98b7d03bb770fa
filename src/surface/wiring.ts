/** Types and defaults that `src/app` and the command line share: stores, clients, workers, servers. */
import type { Fault } from '../faults/fault.ts'
import type { Json } from '../kernel/json.ts'
import type { Damage } from '../runelog/damage.ts'
import type { Runelog } from '../runelog/port.ts'
import type { Stray } from '../runelog/segment.ts'
import type { Mark } from '../runes/record.ts'
import type { Rune } from '../runes/rune.ts'
import type { BadEvent, Redacted } from '../runes/verify.ts'
import type { AbandonedRun } from '../runtime/store.ts'
import type { StoreKey } from './backend.ts'

/** The config file that commands read unless another is named. */
export const defaultConfigFile = './statewright.config.ts'

/** Where a server listens unless another host is named: only this machine reaches it. */
export const defaultHost = '127.0.0.1'

/** The port of a server. If it is taken and no port was named, the server takes any free one. */
export const defaultPort = 4400

/** The places that a command names. The environment, the config and the defaults fill in the rest. */
export interface Where {
  readonly server: string | undefined
  readonly store: string | undefined
  readonly config: string | undefined
}

/** How a client uses a store: `look`; `act`, which recovers its session; `work`, which also carries out its run. */
export type Use = 'look' | 'act' | 'work'

/** A session to verify, and the marks that its log must pass through. */
export interface ToProve {
  readonly session_id: string
  readonly marks: readonly Mark[]
}

/** The result of verifying one session. */
export interface Proved {
  readonly session_id: string
  readonly events: number
  /** The hash of the last event that is proved. */
  readonly head: string
  readonly first_bad: BadEvent | null
  readonly redactions: readonly Redacted[]
}

/** A store that a command opened. It existed before: only work makes a store. */
export interface ExistingStore extends StoreKey {
  readonly runelog: Runelog
  /** Runs in state `running` that no process holds. */
  readonly abandoned: () => Promise<readonly AbandonedRun[]>
  /** Files next to the store that it does not refer to. Null: the files of this kind of store are not looked through. */
  readonly strays: (() => Promise<readonly Stray[]>) | null
  /** Deletes a stray file. */
  readonly discard: (stray: Stray) => Promise<void>
  /** Verifies sessions, each from its first event. They come in any order. */
  readonly prove: (asked: readonly ToProve[], trusted: readonly string[]) => AsyncIterable<Proved>
  /** Rows, outputs and files that do not follow from the log. */
  readonly damages: () => AsyncIterable<Damage>
}

/** A copy of a store. */
export interface BackedUp {
  /** The URL of the copy. */
  readonly store: string
  /** Why the copy has no key although the store had one. */
  readonly key_problem: string | null
}

/** One line of `doctor`. */
export interface Finding {
  readonly what: string
  readonly verdict: 'good' | 'odd' | 'bad'
  readonly says: string
  /** The remedy. */
  readonly fix: string | null
}

/** How a store of plans is opened. */
export interface PlanAsked {
  readonly registry?: string
  readonly policy?: Json
  readonly signingKey?: string
  /** Makes the store if it does not exist. */
  readonly creates: boolean
}

/** Where a worker reports. */
export interface WorkingIo {
  /** Called with each rune that the worker records. */
  readonly onRune: (rune: Rune) => void
  readonly warn: (text: string) => void
}

/** A process that works on a store. */
export interface Working {
  readonly agents: readonly string[]
  readonly max_concurrent_runs: number
  /** Other processes may work on the store too. */
  readonly is_shared: boolean
  /** Resolves when the store refuses everything from this process, which must then restart. */
  readonly broken: Promise<Fault>
  /** Releases every run at its next boundary. */
  stop(): Promise<void>
}

/** How a server is started. These options win over `server` in the config. */
export interface ServingOptions {
  /** The address to listen on. Default: `127.0.0.1`, which only this machine reaches. */
  readonly host?: string
  /** Default: 4400, or any free port if that one is taken. */
  readonly port?: number
  /** More names that the server answers to. */
  readonly hosts?: readonly string[]
  /** Files in PEM. Without them the server listens to this machine only. */
  readonly tls?: { readonly cert: string; readonly key: string }
  /** Listens to other machines without TLS, because a proxy in front encrypts. */
  readonly allowPlainHttp?: boolean
  /** Logs warnings only, and not each request. */
  readonly quiet?: boolean
}

/** A server as a command asks for it. */
export type ServerAsked = ServingOptions & Pick<Where, 'store' | 'config'>

/** A server that listens. */
export interface Serving extends Working {
  /** Where it listens, such as `http://127.0.0.1:4400`. */
  readonly url: string
  /** The file of the owner's token; null if the token ends with the process. */
  readonly token_file: string | null
  /** The token, if this start made it. */
  readonly new_token: string | null
}
