import { join } from 'node:path'

/** Where the store commits. Both ways have to survive the same. */
export const writers = ['in_place', 'thread'] as const
export type Writer = (typeof writers)[number]

export const databaseIn = (folder: string) => join(folder, 'statewright.db')

/** How to run `durable-workload.ts` on a store in this folder. */
export function workload(folder: string, rounds: number, writer: Writer, ...weakened: readonly string[]) {
  return [process.execPath, 'test/support/durable-workload.ts', databaseIn(folder), String(rounds), writer, ...weakened]
}
