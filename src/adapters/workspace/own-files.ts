import { readdirSync, realpathSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { streamSafe } from '../../runelog/normal-form.ts'

/** A path that is ours, with everything next to it that is named after it: `x.db` covers `x.db-wal` and `x.db.key`. */
type Claim = { readonly folder: string; readonly name: string; count: number }

const claims = new Map<string, Claim>()

/** Declares a file or folder as this program's: workspace tools refuse it, also before it exists. Call to release. */
export function claimOwnFile(path: string): () => void {
  const whole = resolve(path)
  const held = claims.get(whole) ?? { folder: realOr(dirname(whole)), name: folded(basename(whole)), count: 0 }
  held.count += 1
  claims.set(whole, held)
  let isHeld = true
  return () => {
    if (!isHeld) return
    isHeld = false
    held.count -= 1
    if (held.count === 0) claims.delete(whole)
  }
}

/** Whether a real path is ours or lies in a folder that is, by its name or by its inode. */
export function isOwnFile(real: string): boolean {
  if (claims.size === 0) return false
  const existing = ownFiles().flatMap((path) => statOr(path) ?? [])
  for (let at = real; ; at = dirname(at)) {
    const stat = statOr(at)
    if (isNamedAsOurs(at) || existing.some((one) => isSame(one, stat))) return true
    if (dirname(at) === at) return false
  }
}

/** Every file and folder that is ours and is there. */
export function ownFiles(): readonly string[] {
  const found = [...claims.values()].flatMap(({ folder, name }) => {
    try {
      return readdirSync(folder).flatMap((entry) => (isNamedAfter(folded(entry), name) ? [join(folder, entry)] : []))
    } catch {
      return []
    }
  })
  return [...new Set(found)]
}

function isNamedAsOurs(path: string): boolean {
  const name = folded(basename(path))
  const near = [...claims.values()].filter((claim) => isNamedAfter(name, claim.name))
  if (near.length === 0) return false
  const folder = statOr(dirname(path))
  return near.some((claim) => claim.folder === dirname(path) || isSame(folder, statOr(claim.folder)))
}

const isNamedAfter = (name: string, own: string) =>
  name === own || (name.startsWith(own) && /[-.]/.test(name[own.length] ?? ''))

/** File systems differ in what they take for the same name; the widest reading is used. */
const folded = (name: string) => streamSafe(name, (part) => part.normalize('NFKC')).toLowerCase()

/** Compares device and inode. A missing file is the same as no other. */
const isSame = (a: Stats | undefined, b: Stats | undefined) =>
  a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino

/** Undefined if the path leads to nothing that could be opened by it. */
function statOr(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    if (['ELOOP', 'ENAMETOOLONG', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

function realOr(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
