import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { watchFolder } from '../../../src/adapters/sqlite/open-database.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('watch-folder')
let folder: string
let file: string

/** The folder looks as if nothing had been added to it for a while. */
const rest = () => utimesSync(folder, 1_000, 1_000)

beforeEach(() => {
  folder = join(scratch.fresh(), 'data')
  file = join(folder, 'store.db')
  mkdirSync(folder)
  writeFileSync(file, 'x')
  rest()
})

test('watch folder: nothing changed, as long as no file is added, removed or renamed', () => {
  const hasChanged = watchFolder(file, Date.now)
  expect([hasChanged(), hasChanged()]).toEqual([true, false])
  writeFileSync(file, 'more')
  expect(hasChanged()).toBe(false)
  rmSync(file)
  expect(hasChanged()).toBe(true)
})

test('watch folder: the folder of the file itself is watched, not that of a link to it', () => {
  const link = join(scratch.fresh(), 'link.db')
  symlinkSync(file, link)
  const hasChanged = watchFolder(link, Date.now)
  expect([hasChanged(), hasChanged()]).toEqual([true, false])
  rmSync(file)
  expect(hasChanged()).toBe(true)
})

test('watch folder: a copy in its place has changed, although it is as old; so has a folder that is gone', () => {
  const hasChanged = watchFolder(file, Date.now)
  expect([hasChanged(), hasChanged()]).toEqual([true, false])
  renameSync(folder, `${folder}.old`)
  cpSync(`${folder}.old`, folder, { recursive: true, preserveTimestamps: true })
  rest()
  expect(hasChanged()).toBe(true)
  rmSync(folder, { recursive: true })
  expect([hasChanged(), hasChanged()]).toEqual([true, true])
})

test('watch folder: right after a change it may have changed again in the same tick of the file system', () => {
  const hasChanged = watchFolder(file, () => 1_000_050)
  expect([hasChanged(), hasChanged()]).toEqual([true, true])
})
