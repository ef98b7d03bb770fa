import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { faults } from '../../faults/catalogue.ts'
import { isLoopback } from '../../wire/loopback.ts'

/** Who holds a store, for whoever comes second. `address` is where a server can be asked instead. */
export interface Holder {
  readonly pid: number
  readonly address: string | null
}

export interface Lock {
  /** Publishes where the holder can be reached. */
  announce(address: string): void
  release(): void
}

/** A lock that nobody refers to any more must not be collected as garbage: that would open the store to another process. */
const held = new Set<DatabaseSync>()

/**
 * One process at a time. The lock is one of the operating system, taken by
 * SQLite on an empty file, so it dies with its holder however that dies, and
 * nobody has to judge whether a process id is stale. Who the holder is stands
 * in a second file; it is read only while the lock is taken.
 */
export function takeLock(path: string): Lock {
  const guardPath = `${path}.guard`
  const holderPath = `${path}.lock`
  closeSync(openSync(guardPath, 'a', 0o600))
  const guard = new DatabaseSync(guardPath)
  try {
    guard.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE')
  } catch (error) {
    guard.close()
    if ((error as { errcode?: number }).errcode !== 5) throw error
    throw faults.store_locked({ store: path, ...readHolder(path) })
  }
  held.add(guard)
  const publish = (holder: Holder) => {
    writeFileSync(`${holderPath}.part`, `${JSON.stringify(holder)}\n`, { mode: 0o600 })
    renameSync(`${holderPath}.part`, holderPath)
  }
  publish({ pid: process.pid, address: null })
  return {
    announce: (address) => publish({ pid: process.pid, address }),
    release() {
      // The second time the lock may be someone else's.
      if (!guard.isOpen) return
      rmSync(holderPath, { force: true })
      guard.close()
      held.delete(guard)
    },
  }
}

/**
 * Between taking the lock and writing its name a holder is nameless for a
 * moment; then there is no one to name. Commands send their token to the
 * address, so it counts only if it is on this machine and its process lives.
 */
export function readHolder(path: string): Holder {
  try {
    const { pid, address } = JSON.parse(readFileSync(`${path}.lock`, 'utf8')) as Partial<Record<keyof Holder, unknown>>
    if (typeof pid !== 'number' || !isAlive(pid)) return { pid: 0, address: null }
    return { pid, address: typeof address === 'string' && isLoopback(address) ? address : null }
  } catch {
    return { pid: 0, address: null }
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It lives, and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
