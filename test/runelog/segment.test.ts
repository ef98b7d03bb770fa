import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { createSegments } from '../../src/runelog/segment.ts'
import { refusal } from '../conformance/runelog/store.ts'
import { temporaryFolder } from '../support/temporary.ts'

const most = 40_000

const nameOf = (bytes: Buffer) => `ses~1-${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}.ndjson.zst`

const records = Array.from({ length: 30 }, (_, i) => ({
  event_id: i + 1,
  header: `{"event_id":${i + 1},"session_id":"ses:1"}`,
  payload: `{"content":"${'Zürich '.repeat(i)}"}`,
  salt: 'ab'.repeat(16),
  hash: String(i % 10).repeat(64),
  position: 2 * i + 1,
}))
const text = records.map((record) => `${JSON.stringify(record)}\n`).join('')

async function written() {
  const folder = temporaryFolder()
  const segments = createSegments(folder, most)
  const { segment } = await segments.write('ses:1', records)
  const path = join(folder, segment)
  /** Without what was read before. */
  const read = () => createSegments(folder, most).read(segment)
  return { folder, segments, segment, path, read, bytes: readFileSync(path) }
}

const damaged = (problem: string | RegExp) => ({
  code: 'store_damaged',
  details: { problem: typeof problem === 'string' ? problem : expect.stringMatching(problem) },
})

test('segment: the same records are the same file, which is smaller, and reads back', async () => {
  const { folder, segments, segment, read, bytes } = await written()
  expect(segment).toBe(nameOf(bytes))
  expect(bytes.length).toBeLessThan(text.length / 5)
  expect(await read()).toEqual(records)
  expect((await segments.write('ses:1', records)).segment).toBe(segment)
  expect(readdirSync(folder)).toEqual([segment])
  expect(await (await written()).read()).toEqual(records)
})

test('segment: each flipped bit, cut and addition is refused in a sentence', async () => {
  const { path, read, segments, segment, bytes } = await written()
  const changed = [
    ...Array.from(bytes, (byte, at) => Buffer.from(bytes).fill(byte ^ (1 << (at % 8)), at, at + 1)),
    ...Array.from(bytes, (_, at) => bytes.subarray(0, at)),
    Buffer.concat([bytes, bytes]),
  ]
  for (const [i, each] of changed.entries()) {
    writeFileSync(path, each)
    expect(await refusal(read()), `change ${i}`).toMatchObject(
      damaged('it was changed: its content does not fit its name.'),
    )
    // The name of a stray is not trusted. Its checksum shows a flipped bit, and its end a cut; bytes after it hold nothing.
    if (i < changed.length - 1)
      await segments.readStray(segment).then(
        (found) => expect(found, `stray ${i}`).toEqual(records),
        (error) => expect((error as Error).message, `stray ${i}`).toMatch(/^it (cannot be unpacked|unpacks to more)/),
      )
  }
  rmSync(path)
  expect(await refusal(read())).toMatchObject(damaged(/^it is missing from /))
})

const pack = (content: string | Buffer) => zstdCompressSync(content, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
const [first] = records
const line = (change: object) => `${JSON.stringify({ ...first, ...change })}\n`

test.each<[string, Buffer, RegExp]>([
  ['an archive of 0.1', gzipSync(text), /^it cannot be unpacked \(/],
  ['nothing', Buffer.alloc(0), /^it cannot be unpacked \(/],
  ['half of the packed bytes', pack(text).subarray(0, 200), /^it cannot be unpacked \(/],
  ['a bomb', pack(Buffer.alloc(2 ** 26)), /^it unpacks to more than 40000 bytes\.$/],
  ['text', pack('hello\n'), /^its line 1 is not a record\.$/],
  ['a last line without its end', pack(text.slice(0, -1)), /^its line 30 is not a record\.$/],
  ['null', pack('null\n'), /^its line 1 is not a record\.$/],
  ['a record without a position', pack(line({ position: undefined })), /^its line 1 is not a record\.$/],
  ['a record whose position is a text', pack(line({ position: '1' })), /^its line 1 is not a record\.$/],
  ['a record whose position is a fraction', pack(line({ position: 0.5 })), /^its line 1 is not a record\.$/],
  ['a record whose salt is null', pack(text + line({ salt: null })), /^its line 31 is not a record\.$/],
])('segment: a file under the right name that holds %s is refused in a sentence', async (_, bytes, problem) => {
  const { folder, segments } = await written()
  const name = nameOf(bytes)
  writeFileSync(join(folder, name), bytes)
  expect(await refusal(segments.read(name))).toMatchObject(damaged(problem))
  await expect(segments.readStray(name)).rejects.toThrow()
})

test('segment: a file that is longer than any log is not read', async () => {
  const { path, read } = await written()
  truncateSync(path, 2 ** 40)
  expect(statSync(path).size).toBe(2 ** 40)
  expect(await refusal(read())).toMatchObject(damaged(/^it cannot be read \(it has 1099511627776 bytes, and at most/))
})

test('segment: a log that could not be read back is not archived', async () => {
  const { folder } = await written()
  const before = readdirSync(folder)
  expect(await refusal(createSegments(folder, text.length - 1).write('ses:1', records))).toMatchObject({
    code: 'segment_unwritable',
    message: expect.stringContaining(`its log has ${Buffer.byteLength(text)} bytes, and an archive takes at most`),
  })
  expect(readdirSync(folder)).toEqual(before)
})
