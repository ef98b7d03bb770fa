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
}

/** What the process says to the shell. */
export const exits = { ok: 0, failed: 1, usage: 2 } as const
