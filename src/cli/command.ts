import type { Io } from './host.ts'

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
