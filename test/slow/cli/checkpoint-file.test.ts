import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { addSession } from '../../support/add-session.ts'
import { runCli } from '../../support/run-cli.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('checkpoint-file')
const launcher = join(import.meta.dirname, '../../../bin/statewright.js')
let store: string
let kept: string

beforeEach(async () => {
  const folder = scratch.fresh()
  store = `sqlite:${join(folder, 'app.db')}`
  kept = join(folder, 'kept.ndjson')
  await addSession(store)
})

const checkpoint = (file = kept) => runCli(['checkpoint', '--store', store, '-o', file])
const verify = () => runCli(['verify', '--store', store, '--checkpoints', kept])

test('F-95 checkpoint: a file that cannot take the whole line is as long as before', async () => {
  expect(await checkpoint()).toMatchObject({ exit: 0 })
  const line = readFileSync(kept, 'utf8')
  // The file may have 64 kB: the free space is shorter than a line.
  const full = line.repeat(Math.floor((64 * 1024) / line.length))
  expect((64 * 1024) % line.length).toBeGreaterThan(0)
  writeFileSync(kept, full)
  const command = [process.execPath, launcher, 'checkpoint', '--store', store, '-o', kept]
  const script = 'ulimit -f 64 && exec "$@"'
  const { status, stderr } = spawnSync('bash', ['-c', script, 'bash', ...command], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringContaining(`${kept} cannot be used: the system refuses it (EFBIG)`),
  })
  expect(readFileSync(kept, 'utf8') === full).toBe(true)
  // Where there is room again, the file is whole.
  expect(await checkpoint()).toMatchObject({ exit: 0 })
  expect(await verify()).toMatchObject({ exit: 0, err: '' })
})

test('F-95 checkpoint: nothing is added to a file whose last line is torn', async () => {
  expect(await checkpoint()).toMatchObject({ exit: 0 })
  const torn = `${readFileSync(kept, 'utf8')}{"checkpoint":{"session_id":"ses`
  writeFileSync(kept, torn)
  expect(await checkpoint()).toMatchObject({
    exit: 1,
    out: '',
    err: expect.stringContaining(`${kept} cannot be used: its last line has no line end`),
  })
  expect(readFileSync(kept, 'utf8')).toBe(torn)
})

test('F-95 checkpoint: an empty file and a device take lines', async () => {
  writeFileSync(kept, '')
  expect(await checkpoint()).toMatchObject({ exit: 0 })
  expect(await verify()).toMatchObject({ exit: 0, err: '' })
  expect(await checkpoint('/dev/null')).toMatchObject({ exit: 0 })
})

test('checkpoint: a file of other content is refused, and stays as it is', async () => {
  writeFileSync(kept, '{"type":"module"}\n')
  const err = expect.stringContaining('its first line is no checkpoint')
  expect(await checkpoint()).toMatchObject({ exit: 1, err })
  expect(readFileSync(kept, 'utf8')).toBe('{"type":"module"}\n')
})
