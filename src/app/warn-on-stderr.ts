import { printable, printableJson } from '../kernel/printable.ts'

/** Warnings of a process that was given no other place for them. */
export function warnOnStderr(message: string, details: object): void {
  process.stderr.write(`${printable(message)}: ${printableJson(details)}\n`)
}
