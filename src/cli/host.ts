import type { FrozenFiles, SignatureCheck, Signer } from '../coordinator/outputs/freeze.ts'
import type { RuleEngine } from '../coordinator/rules/engine.ts'
import type { FactPack } from '../coordinator/schemas/context.ts'
import type { RegistrySnapshot } from '../coordinator/schemas/registry.ts'
import type { Sha256 } from '../kernel/digest.ts'
import type { Json } from '../kernel/json.ts'
import type { CheckSignature } from '../runes/checkpoint.ts'
import type { Client } from '../surface/client.ts'
import type {
  BackedUp,
  ExistingStore,
  Finding,
  PlanAsked,
  ServerAsked,
  Serving,
  Use,
  Where,
  Working,
  WorkingIo,
} from '../surface/wiring.ts'

/** The input and output of a command. */
export interface Io {
  /** Writes lines to standard output: the result. */
  readonly out: (text: string) => void
  /** Writes lines to standard error: problems and hints. */
  readonly err: (text: string) => void
  /** Writes to standard output without a line end. */
  readonly write: (text: string) => void
  readonly terminal: Terminal
  /** How this command line is called, for hints. */
  readonly program: string
  /** Runs another command in this process. Resolves with its exit code. */
  readonly command: (args: readonly string[], changes?: Partial<Io>) => Promise<number>
  readonly host: Host
}

/** The terminal of a command. */
export interface Terminal {
  /** A person can answer. If not, nothing is asked. */
  readonly isInteractive: boolean
  /** Standard output is a terminal: no log keeps what is printed. */
  readonly isScreen: boolean
  readonly hasColor: boolean
  /** One line of input; undefined if the input has ended or the signal withdraws the question. */
  ask(question: string, signal?: AbortSignal): Promise<string | undefined>
}

/** The port of commands to the machine. The wiring implements it. */
export interface Host {
  readonly sha256: Sha256
  readonly now: () => number
  readonly checkSignature: CheckSignature
  readonly planning: Planning
  /** Opens a store that exists; without a URL, the one of the environment or the config. `look` needs no write access. */
  readonly openStore: (url: string | undefined, use: 'look' | 'change') => Promise<ExistingStore>
  /** Opens a client of the server that is named or that holds the store, or on the store itself. */
  readonly openClient: (where: Where, use: Use) => Promise<Client>
  /** Opens a client for the plans of a store, which need no config. */
  readonly openPlans: (where: Where, asked: PlanAsked) => Promise<Client>
  /** Copies a store into a new folder. */
  readonly backUp: (url: string | undefined, folder: string) => Promise<BackedUp>
  /** Checks everything that could keep a command from working. */
  readonly examine: (where: Where) => Promise<readonly Finding[]>
  /** Whether there is a config: the one that was named, or the default one. */
  readonly hasConfig: (named: string | undefined) => Promise<boolean>
  readonly startWorker: (where: Pick<Where, 'store' | 'config'>, io: WorkingIo) => Promise<Working>
  readonly startServer: (asked: ServerAsked, io: WorkingIo) => Promise<Serving>
  readonly playDemo: (io: Io, options: DemoOptions) => Promise<number>
  /** Calls back on Ctrl-C, and with 'leave' on SIGTERM, instead of ending the process. Returns the way to unsubscribe. */
  readonly onInterrupt: (listener: (asked?: 'leave') => void) => () => void
  /** Calls back once a second. Returns the way to stop. */
  readonly everySecond: (listener: () => void) => () => void
  /** Waits for the work, at most this long. Ignores its errors. */
  readonly within: (ms: number, work: () => Promise<unknown>) => Promise<void>
  /** Resolves with the name of the signal that asks this process to end. */
  readonly untilSignal: () => Promise<string>
}

/** How the demo is played. */
export interface DemoOptions {
  /** The folder for its data; undefined: a new temporary folder. */
  readonly folder: string | undefined
  /** The demo answers its own questions. */
  readonly answersItself: boolean
}

/** The port of planning without a store: files, rules, keys. */
export interface Planning {
  /** Reads a file in JSON or YAML. */
  readonly readDocument: (file: string) => Promise<Json>
  readonly isFolder: (path: string) => Promise<boolean>
  readonly readRegistry: (folder: string) => Promise<RegistrySnapshot>
  /** The rule engine; loaded on first use. */
  readonly rules: () => Promise<RuleEngine>
  readonly scan: (folder: string, project_id: string) => Promise<FactPack>
  readonly writePlan: (folder: string, files: FrozenFiles) => Promise<void>
  /** The text files of a folder, and the names of those that are not text. */
  readonly readPlan: (folder: string) => Promise<{ readonly files: FrozenFiles; readonly strange: readonly string[] }>
  /** Reads a private key in PEM. */
  readonly readKey: (file: string) => Promise<{ readonly signer: Signer; readonly signature: SignatureCheck }>
  /** Reads a key in PEM, private or public. */
  readonly readPublicKey: (file: string) => Promise<SignatureCheck>
  /** Writes a file that does not exist yet. */
  readonly writeNew: (file: string, text: string) => Promise<void>
}
