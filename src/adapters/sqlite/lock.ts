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
  /** When the process began, which tells it from a later one with its pid. Null where the system does not say. */
  readonly began: string | null
}

/** The lock on a store file; one process holds it. */
export type Lock = ReturnType<typeof takeLock>

/** Keeps references to locks: garbage collection would release them to another process. */
const held = new Set<DatabaseSync>()

/** A process that wants to write waits this long for processes that only read. */
const readers_ms = 2_000

/**
 * One process that writes, or any number that read. The lock is one of the operating system, taken by SQLite on an
 * empty file: it ends with its holder. A second file names the holder. A holder loses a POSIX lock when any of its code
 * opens and closes the file, as a copy of the folder does; it is refused by its name then.
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
    const holder = readHolder(path)
    if (holder.began !== null && holder.pid !== process.pid) throw lockedBy(path, holder)
  } catch (error) {
    const refused = isBusy(error) ? lockedBy(path, isOnlyRead(path) ? unnamed : readHolder(path)) : error
    guard.close()
    throw refused
  }
  held.add(guard)
  let checkName = check
  const publish = (holder: Holder) => {
    writeFileSync(`${holderPath}.part`, `${JSON.stringify(holder)}\n`, { mode: 0o600 })
    renameSync(`${holderPath}.part`, holderPath)
    checkName = watchFiles([holderPath])
  }
  const began = beganAt(process.pid)
  publish({ pid: process.pid, address: null, began })
  return {
    announce: (address: string) => publish({ pid: process.pid, address, began }),
    /** Throws if the locked file was removed or replaced: another process can lock the new one. */
    check,
    release() {
      if (!guard.isOpen) return
      try {
        checkName()
        rmSync(holderPath)
      } catch {
        // The guard was replaced, and another holder has written its name, or the folder is gone.
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
  if (guard === undefined) throw lockedBy(path, readHolder(path))
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

const unnamed: Holder = { pid: 0, address: null, began: null }

const lockedBy = (store: string, { pid, address }: Holder) => faults.store_locked({ store, pid, address })

/** The holder, if its process lives. Commands send their token to its address, so that must be on this machine. */
function readHolder(path: string): Holder {
  try {
    const named = JSON.parse(readFileSync(`${path}.lock`, 'utf8')) as Partial<Record<keyof Holder, unknown>>
    const { pid, address } = named
    if (typeof pid !== 'number' || !isAlive(pid)) return unnamed
    const began = beganAt(pid)
    const isSame = began === named.began
    return {
      pid,
      address: typeof address === 'string' && isLoopback(address) ? address : null,
      began: isSame ? began : null,
    }
  } catch {
    return unnamed
  }
}

/** When a living process began, in ticks since the machine did. Null: it has ended, or the system does not say. */
function beganAt(pid: number): string | null {
  try {
    const [state = '', ...fields] = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
    return 'ZX'.includes(state) ? null : (fields[18] ?? null)
  } catch {
    return null
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
