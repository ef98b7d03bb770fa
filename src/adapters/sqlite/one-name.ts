import { lstatSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { faults } from '../../faults/catalogue.ts'

/**
 * The log, the lock and the other files of a store lie beside its database, under its name. Under another name it has
 * others: two processes could write to it at once, and a reader or a backup would miss what is in them.
 */
export function refuseSecondName(path: string): void {
  const file = lstatSync(path, { throwIfNoEntry: false })
  if (file === undefined) return
  if (file.isSymbolicLink())
    throw refused(path, `it is a link to ${readlinkSync(path)}`, 'Use the name that the link leads to')
  if (file.isFile() && file.nlink > 1)
    throw refused(path, `the file has ${file.nlink} names (hard links)`, 'Delete the other name, or make it a copy')
  if (mountPoints(readMounts()).has(realpathSync(path)))
    throw refused(path, 'the file is mounted by itself', 'Mount the folder that it is in')
}

const refused = (store: string, what: string, advice: string) =>
  faults.store_unusable({
    store,
    problem: `${what}, and its log and its lock lie beside it under one name. Under another, two processes could write to it at once. ${advice}.`,
  })

/** Where something is mounted, by the text of Linux's `mountinfo`: the fifth field, with spaces and the like in octal. */
export function mountPoints(mountinfo: string): ReadonlySet<string> {
  const decode = (field: string) =>
    field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
  return new Set(mountinfo.split('\n').map((line) => decode(line.split(' ')[4] ?? '')))
}

/** Empty where there is no such file: other systems mount folders only. */
function readMounts(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return ''
  }
}
