import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** A folder through which a test and the agents of a server talk: gates that the test opens, notes that the agents take. */
export function gatesIn(folder: string) {
  const noteFile = (name: string) => join(folder, `${name}.ndjson`)
  return {
    open: (gate: string) => writeFileSync(join(folder, `gate-${gate}`), ''),
    isOpen: (gate: string) => existsSync(join(folder, `gate-${gate}`)),
    /** Resolves when the gate is open, or when the signal fires. */
    async pass(gate: string, signal?: AbortSignal): Promise<void> {
      while (!existsSync(join(folder, `gate-${gate}`)) && signal?.aborted !== true) await delay(10)
    },
    note: (name: string, value: object) => appendFileSync(noteFile(name), `${JSON.stringify(value)}\n`),
    notes<T>(name: string): readonly T[] {
      if (!existsSync(noteFile(name))) return []
      const lines = readFileSync(noteFile(name), 'utf8').split('\n')
      return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T)
    },
  }
}
