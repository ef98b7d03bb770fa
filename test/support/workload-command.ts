import { join } from 'node:path'

export const databaseIn = (folder: string) => join(folder, 'statewright.db')

/** How to run `durable-workload.ts` on a store in this folder. */
export function workload(folder: string, rounds: number, ...weakened: readonly string[]) {
  return [process.execPath, 'test/support/durable-workload.ts', databaseIn(folder), String(rounds), ...weakened]
}
