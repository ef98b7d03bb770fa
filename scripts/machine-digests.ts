/** The digest of every machine, as the golden file keeps them: `npm run digests` writes it. */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { machineDigest, type Sha256 } from '../src/kernel/digest.ts'
import type { Machine } from '../src/kernel/machine.ts'
import { machines } from '../src/machines/all.ts'

export interface Golden {
  readonly [machine: string]: { readonly version: number; readonly digest: string }
}

export const sha256: Sha256 = (text) => createHash('sha256').update(text).digest('hex')

const file = new URL('../test/golden/machine-digests.golden.json', import.meta.url)

export function readGolden(): Golden {
  return JSON.parse(readFileSync(file, 'utf8')) as Golden
}

export function digestsOf(declared: readonly Machine[]): Golden {
  return Object.fromEntries(
    declared.map((machine) => [machine.name, { version: machine.version, digest: machineDigest(machine, sha256) }]),
  )
}

/** A machine that changed must say so by its version, since old logs name the version they were written under. */
export function unannounced(golden: Golden, now: Golden): readonly string[] {
  return Object.entries(now).flatMap(([name, { version, digest }]) => {
    const before = golden[name]
    if (before === undefined || before.digest === digest || version > before.version) return []
    return [`${name} changed and is still version ${version}: raise its version, then run "npm run digests".`]
  })
}

if (import.meta.main) {
  const now = digestsOf(machines)
  const problems = unannounced(readGolden(), now)
  for (const problem of problems) console.error(problem)
  if (problems.length === 0) writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
