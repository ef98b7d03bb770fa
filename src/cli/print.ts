import type { Arguments } from './command.ts'
import type { Io } from './host.ts'
import { inOrder } from './render/in-order.ts'
import { safeJson } from './render/safe.ts'

/** A result as a program wants it, or as a person does. */
export function print(io: Io, { values }: Arguments, result: unknown, lines: () => readonly string[]): void {
  if (values.json) io.out(safeJson(inOrder(result), 2))
  else for (const line of lines()) io.out(line)
}
