import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder for the files of a benchmark, on the disk that `BENCH_DIR` names. It is removed when the process ends. */
export function scratch() {
  const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'statewright-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  // A signal ends a process without the event `exit`.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  let files = 0
  return { folder, file: () => join(folder, `${++files}.db`) }
}

/** Bytes of a store: its file, and all files whose names begin like it. The fold cache is counted apart: it may go. */
export function sizeOf(path: string, isCache = false): number {
  const slash = path.lastIndexOf('/')
  const [folder, name] = [path.slice(0, slash), path.slice(slash + 1)]
  return readdirSync(folder)
    .filter((file) => file.startsWith(name) && file.startsWith(`${name}.cache`) === isCache)
    .reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
}
