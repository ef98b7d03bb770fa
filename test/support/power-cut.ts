import { dirname } from 'node:path'
import { bytesOf, type Call, pathOf } from './strace.ts'

/** The system calls of a program on one folder, in order, and its output meanwhile. */
type Deed =
  | { readonly did: 'create' | 'make_folder' | 'remove'; readonly path: string }
  | { readonly did: 'rename'; readonly path: string; readonly to: string }
  | {
      readonly did: 'write'
      readonly path: string
      readonly offset: number
      readonly bytes: Buffer
      readonly ended: number
    }
  | { readonly did: 'truncate'; readonly path: string; readonly length: number; readonly ended: number }
  | { readonly did: 'sync'; readonly path: string; readonly began: number }
  | { readonly did: 'tell'; readonly text: string }

type Change = Extract<Deed, { did: 'write' | 'truncate' }>
type Naming = Extract<Deed, { did: 'create' | 'make_folder' | 'remove' | 'rename' }>

export const recordedCalls = [
  'openat',
  'write',
  'pwrite64',
  'ftruncate',
  'fsync',
  'fdatasync',
  'unlink',
  'unlinkat',
  'rename',
  'link',
  'mkdir',
]

/** How much of what was not synced reached the disk. */
export const fates = ['nothing', 'some_writes', 'some_sectors'] as const
export type Fate = (typeof fates)[number]

export interface Image {
  /** After how many deeds the power failed. */
  readonly cut: number
  readonly fate: Fate
  /** The output of the program by then. */
  readonly told: string
  /** The files on the disk after the power cut, by path. */
  readonly files: ReadonlyMap<string, Buffer>
}

/** A file, or a folder: the bytes that are certainly on the disk, and those that the system only promised. */
interface Inode {
  readonly isFolder: boolean
  synced: Buffer
  promised: Change[]
}

const sector = 512

/**
 * The deeds of a recording in `folder`. A write counts from its start and a
 * sync from its end, and a sync covers only writes that ended before it
 * began: the order least favourable to the program.
 */
export function deeds(calls: readonly Call[], folder: string): readonly Deed[] {
  const positions = new Map<string, number>()
  const known = new Set<string>()
  const found: { readonly deed: Deed; readonly at: number }[] = []
  for (const { name, args, started, ended, result } of calls) {
    if (result < 0) continue
    const add = (deed: Deed, at = started) => found.push({ deed, at })
    const path = args[0]?.includes('<') ? pathOf(args[0]) : bytesOf(args[0]).toString()
    const inside = path === folder || path.startsWith(`${folder}/`)
    if (name === 'write' && args[0]?.startsWith('1<')) add({ did: 'tell', text: bytesOf(args[1]).toString() })
    else if (name === 'openat') {
      const opened = bytesOf(args[1]).toString()
      if (!opened.startsWith(`${folder}/`)) continue
      positions.set(opened, 0)
      if (args[2]?.includes('O_CREAT') && !known.has(opened)) {
        known.add(opened)
        add({ did: 'create', path: opened })
      } else if (args[2]?.includes('O_TRUNC')) add({ did: 'truncate', path: opened, length: 0, ended })
    } else if (!inside) continue
    else if (name === 'pwrite64')
      add({ did: 'write', path, bytes: bytesOf(args[1]).subarray(0, result), offset: Number(args[3]), ended })
    else if (name === 'write') {
      const offset = positions.get(path) ?? 0
      positions.set(path, offset + result)
      add({ did: 'write', path, bytes: bytesOf(args[1]).subarray(0, result), offset, ended })
    } else if (name === 'ftruncate') add({ did: 'truncate', path, length: Number(args[1]), ended })
    else if (name === 'fsync' || name === 'fdatasync') add({ did: 'sync', path, began: started }, ended)
    else if (name === 'unlink') {
      known.delete(path)
      add({ did: 'remove', path })
    } else if (name === 'rename') {
      const to = bytesOf(args[1]).toString()
      known.delete(path)
      known.add(to)
      add({ did: 'rename', path, to })
    } else if (name === 'mkdir') add({ did: 'make_folder', path })
    else throw new Error(`The power-cut model does not know ${name}(${args.join(', ')}).`)
  }
  return found.sort((a, b) => a.at - b.at).map(({ deed }) => deed)
}

/**
 * Every disk that a power failure may leave behind: at each cut, what was
 * synced, plus a part of what was not, as `chance` (0 to 1) decides. Names,
 * too, are certain only once their folder was synced; until then a
 * prefix of what was done to them survives.
 */
export function* images(
  done: readonly Deed[],
  folder: string,
  chance: () => number,
  fatesPerCut: readonly Fate[] = fates,
): Generator<Image> {
  const certain = new Map<string, Inode>()
  const present = new Map<string, Inode>()
  let namings: { readonly naming: Naming; readonly inode: Inode | undefined }[] = []
  let told = ''

  for (const [index, deed] of done.entries()) {
    const inode = 'path' in deed ? present.get(deed.path) : undefined
    switch (deed.did) {
      case 'tell':
        told += deed.text
        break
      case 'write':
      case 'truncate':
        inode?.promised.push(deed)
        break
      case 'sync': {
        if (inode?.isFolder === false) {
          const covered = (change: Change) => change.ended < deed.began
          inode.synced = inode.promised.filter(covered).reduce(apply, inode.synced)
          inode.promised = inode.promised.filter((change) => !covered(change))
        } else {
          const mine = ({ naming }: (typeof namings)[number]) => dirname(naming.path) === deed.path
          for (const { naming, inode } of namings.filter(mine)) rename(certain, naming, inode)
          namings = namings.filter((n) => !mine(n))
        }
        break
      }
      default: {
        const isFolder = deed.did === 'make_folder'
        const isNew = isFolder || deed.did === 'create'
        const made = isNew ? { isFolder, synced: Buffer.alloc(0), promised: [] } : inode
        rename(present, deed, made)
        namings.push({ naming: deed, inode: made })
      }
    }
    for (const fate of fatesPerCut) {
      const names = new Map(certain)
      const survived = fate === 'nothing' ? 0 : Math.floor(chance() * (namings.length + 1))
      for (const { naming, inode } of namings.slice(0, survived)) rename(names, naming, inode)
      const kept = [...names].filter(([path, { isFolder }]) => !isFolder && isReachable(path, names, folder))
      const files = new Map(kept.map(([path, inode]) => [path, survive(inode, fate, chance)]))
      yield { cut: index + 1, fate, told, files }
    }
  }
}

function rename(names: Map<string, Inode>, naming: Naming, inode: Inode | undefined) {
  if (naming.did === 'remove' || naming.did === 'rename') names.delete(naming.path)
  if (naming.did === 'remove' || inode === undefined) return
  names.set(naming.did === 'rename' ? naming.to : naming.path, inode)
}

/** A file whose folder was lost is lost with it. */
function isReachable(path: string, names: ReadonlyMap<string, Inode>, folder: string): boolean {
  const parent = dirname(path)
  return parent === folder || (names.has(parent) && isReachable(parent, names, folder))
}

function survive({ synced, promised }: Inode, fate: Fate, chance: () => number): Buffer {
  if (fate === 'nothing') return synced
  let content = synced
  for (const change of promised) {
    if (change.did === 'truncate' || fate === 'some_writes') {
      if (chance() < 0.5) content = apply(content, change)
      continue
    }
    const { offset, bytes } = change
    for (let start = 0; start < bytes.length; ) {
      const end = Math.min(bytes.length, start + sector - ((offset + start) % sector))
      if (chance() < 0.5)
        content = apply(content, { ...change, offset: offset + start, bytes: bytes.subarray(start, end) })
      start = end
    }
  }
  return content
}

function apply(content: Buffer, change: Change): Buffer {
  const length =
    change.did === 'truncate' ? change.length : Math.max(content.length, change.offset + change.bytes.length)
  const next = Buffer.alloc(length)
  content.copy(next)
  if (change.did === 'write') change.bytes.copy(next, change.offset)
  return next
}
