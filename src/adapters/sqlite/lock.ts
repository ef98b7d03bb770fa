import { closeSync, existsSync, openSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { faults } from '../../faults/catalogue.ts'
import { isLoopback } from '../../wire/common.ts'
import { DatabaseSync } from './driver.ts'
import { refuseForeign, refuseName, refuseOrphans, refuseSecondName, watchFiles } from './open-database.ts'

/** The holder of a store, for the refused process. `address` is the address of its server, if it has one. */
interface Holder {
  readonly pid: number
  readonly address: string | null
}

/** The lock on a store file; one process holds it. */
export type Lock = ReturnType<typeof takeLock>

/** Keeps references to locks: garbage collection would release them to another process. */
const held = new Set<DatabaseSync>()

/** A process that wants to write waits this long for processes that only read. */
const readers_ms = 2_000

/**
 * One process that writes, or any number that read. The lock is one of the operating system, taken by SQLite on an
 * empty file: it ends with its holder. A second file names the holder.
 */
export function takeLock(given: string) {
  refuseName(given)
  const path = realPath(given)
  const holderPath = `${path}.lock`
  makeGuard(given, path)
  const check = watchFiles([`${path}.guard`])
  const guard = new DatabaseSync(`${path}.guard`)
  const take = (wait_ms: number) =>
    guard.exec(`PRAGMA busy_timeout = ${wait_ms}; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE`)
  try {
    try {
      take(0)
    } catch (error) {
      if (!isBusy(error) || !isOnlyRead(path)) throw error
      take(readers_ms)
    }
  } catch (error) {
    const holder = isBusy(error) && (isOnlyRead(path) ? unnamed : readHolder(path))
    guard.close()
    throw holder === false ? error : faults.store_locked({ store: path, ...holder })
  }
  held.add(guard)
  const publish = (holder: Holder) => {
    writeFileSync(`${holderPath}.part`, `${JSON.stringify(holder)}\n`, { mode: 0o600 })
    renameSync(`${holderPath}.part`, holderPath)
  }
  publish({ pid: process.pid, address: null })
  return {
    announce: (address: string) => publish({ pid: process.pid, address }),
    /** Throws if the locked file was removed or replaced: another process can lock the new one. */
    check,
    release() {
      if (!guard.isOpen) return
      try {
        check()
        rmSync(holderPath, { force: true })
      } catch {
        // The guard was replaced; the holder file may be, too. It counts only while its process lives, so it may stay.
      }
      guard.close()
      held.delete(guard)
    },
  }
}

/** One file has one lock under all its names: a link to it does not open it a second time. */
function realPath(given: string): string {
  try {
    return realpathSync(given)
  } catch {
    return join(realpathSync(dirname(given)), basename(given))
  }
}

/** Keeps writers away while a command reads. Where no guard can be made, no process can write either. */
export function shareLock(given: string): { release(): void } {
  refuseName(given)
  const path = realPath(given)
  try {
    makeGuard(given, path)
  } catch {
    return { release() {} }
  }
  const guard = readGuard(path)
  if (guard === undefined) throw faults.store_locked({ store: path, ...readHolder(path) })
  held.add(guard)
  return {
    release() {
      if (guard.isOpen) guard.close()
      held.delete(guard)
    },
  }
}

/** Only if none exists: closing a second descriptor would drop a lock of this process. A guard is never removed. */
function makeGuard(given: string, path: string): void {
  if (existsSync(`${path}.guard`)) return
  refuseOrphans(given)
  refuseSecondName(given)
  refuseForeign(given)
  try {
    closeSync(openSync(`${path}.guard`, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** The guard with a shared lock on it; undefined if a process writes to the store. */
function readGuard(path: string): DatabaseSync | undefined {
  const guard = new DatabaseSync(`${path}.guard`, { readOnly: true })
  try {
    guard.exec('PRAGMA busy_timeout = 0; BEGIN; SELECT count(*) FROM sqlite_schema')
    return guard
  } catch (error) {
    guard.close()
    if (!isBusy(error)) throw error
    return undefined
  }
}

function isOnlyRead(path: string): boolean {
  const guard = readGuard(path)
  guard?.close()
  return guard !== undefined
}

const isBusy = (error: unknown) => (error as { errcode?: number }).errcode === 5

const unnamed: Holder = { pid: 0, address: null }

/** The holder, if its process lives. Commands send their token to its address, so that must be on this machine. */
function readHolder(path: string): Holder {
  try {
    const { pid, address } = JSON.parse(readFileSync(`${path}.lock`, 'utf8')) as Partial<Record<keyof Holder, unknown>>
    if (typeof pid !== 'number' || !isAlive(pid)) return unnamed
    return { pid, address: typeof address === 'string' && isLoopback(address) ? address : null }
  } catch {
    return unnamed
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
