import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { beginSource, compress, decompress, dictionaryOf } from '../../../src/adapters/sqlite/lz4.ts'
import { createDice } from '../../support/dice.ts'

const none = new Uint8Array()

/** The block of some bytes that follow on others. */
function blockOf(bytes: Uint8Array, before: Uint8Array = none): Uint8Array {
  const target = new Uint8Array(bytes.length + Math.floor(bytes.length / 255) + 16)
  const size = packInto(target, bytes, before)
  expect(size).toBeGreaterThan(0)
  return target.slice(0, size)
}

/** The length of the block, which begins at the beginning of a target; -1 if it has no room. */
function packInto(target: Uint8Array, bytes: Uint8Array, before: Uint8Array): number {
  const source = Buffer.concat([before, bytes])
  beginSource(source.length)
  const part = { bytes: source, begin: before.length, end: source.length }
  return compress(part, { bytes: target, begin: 0, end: target.length }, dictionaryOf(before))
}

/** The bytes of a block that has so many and follows on these. All three are in the middle of larger memories. */
function unpack(block: Uint8Array, before: Uint8Array, size: number, around = 0): Buffer {
  const memory = new Uint8Array(block.length + 200).fill(around)
  memory.set(block, 100)
  const end = before.length + size
  const out = new Uint8Array(end + 100).fill(around)
  out.set(before)
  decompress({ bytes: memory, begin: 100, end: 100 + block.length }, { bytes: out, begin: before.length, end })
  expect(out.subarray(0, before.length)).toEqual(Uint8Array.from(before))
  expect(out.subarray(end).every((byte) => byte === around)).toBe(true)
  return Buffer.from(out.subarray(before.length, end))
}

/** Bytes with runs, repeated pieces and noise. */
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 600 }),
  fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 400 })).map(repeated),
  fc
    .array(fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 30 }), fc.integer({ min: 1, max: 40 })), { maxLength: 20 })
    .map((parts) => Buffer.concat([...parts, ...parts].map(repeated))),
)

function repeated([piece, times]: readonly [Uint8Array, number]): Uint8Array {
  return Buffer.concat(Array.from({ length: times }, () => piece))
}

/** The sequences of a block, read as the description of the format says: `[literals, distance, length]`. */
function* sequencesOf(block: Uint8Array): Generator<readonly [number, number?, number?]> {
  let at = 0
  const next = () => block[at++] as number
  const whole = (half: number) => {
    let length = half
    if (half === 15) for (let byte = 255; byte === 255; length += byte) byte = next()
    return length
  }
  for (;;) {
    const token = next()
    const literals = whole(token >> 4)
    at += literals
    if (at >= block.length) return yield [literals]
    const distance = next() + 256 * next()
    yield [literals, distance, whole(token & 15) + 4]
  }
}

const options = { seed: 1, numRuns: 1_000 }

describe('LZ4: blocks', () => {
  test('a block unpacks to its bytes, also after others that both sides know', () => {
    fc.assert(
      fc.property(bytes, fc.oneof(fc.constant(none), bytes), (data, before) => {
        const block = blockOf(data, before)
        expect(unpack(block, before, data.length).equals(data)).toBe(true)
      }),
      options,
    )
  })

  test('parts of a source refer to its dictionary and to its earlier parts, and not to another source', () => {
    fc.assert(
      fc.property(bytes, bytes, bytes, (known, first, second) => {
        const source = Buffer.concat([known, first, second])
        const dictionary = dictionaryOf(known)
        const target = new Uint8Array(2 * source.length + 64)
        for (let again = 0; again < 2; again++) {
          beginSource(source.length)
          const out = Buffer.alloc(source.length)
          out.set(known)
          let begin = known.length
          for (const length of [first.length, second.length]) {
            const part = { bytes: source, begin, end: begin + length }
            const end = compress(part, { bytes: target, begin: 7, end: target.length }, dictionary)
            decompress({ bytes: target, begin: 7, end }, { ...part, bytes: out })
            begin += length
          }
          expect(out.equals(source)).toBe(true)
        }
      }),
      options,
    )
  })

  test('bytes that follow on the same bytes take next to none', () => {
    const data = Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * i * 31) >> 3))
    const [alone, after] = [blockOf(data), blockOf(data, data)]
    expect(after.length).toBeLessThan(40)
    expect(alone.length).toBeGreaterThan(1_000)
    expect(unpack(after, data, data.length).equals(data)).toBe(true)
  })

  test('a block keeps the rules of the format at its end, and reaches back 65,535 bytes at most', () => {
    fc.assert(
      fc.property(bytes, (data) => {
        const sequences = [...sequencesOf(blockOf(data))]
        let put = 0
        for (const [literals, distance, length = 0] of sequences) {
          put += literals
          if (distance === undefined) continue
          expect(distance).toBeGreaterThan(0)
          expect(distance).toBeLessThanOrEqual(Math.min(put, 65_535))
          // The last copy begins 12 bytes before the end or earlier, and five bytes follow on it.
          expect(put + 12).toBeLessThanOrEqual(data.length)
          put += length
          expect(put + 5).toBeLessThanOrEqual(data.length)
        }
        expect(put).toBe(data.length)
        expect(sequences.at(-1)).toHaveLength(1)
      }),
      options,
    )
  })

  test.each([0, 1, 12, 13, 14, 15, 16, 18, 19, 20, 269, 270, 271, 524, 525, 526, 65_535, 65_536, 200_000, 3_000_000])(
    'a run of %i bytes, and as many random ones, unpack to themselves',
    (length) => {
      const dice = createDice(length)
      const random = Buffer.alloc(length)
      for (let i = 0; i < length; i++) random[i] = dice.below(256)
      const far = Buffer.concat([random.subarray(0, 1_000), Buffer.alloc(70_000, 'x'), random.subarray(0, 1_000)])
      for (const data of [Buffer.alloc(length, 'a'), random, far])
        expect(unpack(blockOf(data), none, data.length).equals(data)).toBe(true)
      if (length > 300) expect(blockOf(Buffer.alloc(length, 'a')).length).toBeLessThan(20 + length / 250)
    },
  )

  test('many blocks one after the other do not see the places of each other', () => {
    // Each block moves the origin of the table of places by 65,536 and more: after 16,384 it begins again.
    const data = Buffer.from('{"content":"abcabcabc","content":"abcabcabc"}')
    const first = Buffer.from(blockOf(data))
    for (let i = 0; i < 20_000; i++) expect(first.equals(blockOf(data))).toBe(true)
  })

  test('a target without room is refused, and nothing is written behind it', () => {
    fc.assert(
      fc.property(bytes, fc.nat({ max: 400 }), (data, room) => {
        const memory = new Uint8Array(room + 64).fill(0xee)
        const size = packInto(memory.subarray(0, room), data, none)
        expect(memory.subarray(room).every((byte) => byte === 0xee)).toBe(true)
        if (size < 0) return
        expect(size).toBeLessThanOrEqual(room)
        expect(unpack(memory.subarray(0, size), none, data.length).equals(data)).toBe(true)
      }),
      options,
    )
  })
})

describe('LZ4: blocks of the reference implementation (1.9.4, fast and high compression)', () => {
  const abc = `${'abc'.repeat(100)}${'x'.repeat(20)}${'abc'.repeat(10)}`
  const ids = '{"run_id":"run_1","turn_id":"trn_1"}\n{"run_id":"run_1","turn_id":"trn_2"}\n'.repeat(2)
  test.each([
    ['', '00'],
    ['a', '1061'],
    ['abcd'.repeat(3), 'c0616263646162636461626364'],
    ['a'.repeat(13), '13610100506161616161'],
    ['a'.repeat(300), '1f610100ff14506161616161'],
    ['Grüße, 世界 🦉 '.repeat(4), 'ff064772c3bcc39f652c20e4b896e7958c20f09fa6892015002750f09fa68920'],
    [abc, '3f6162630300ff171f780100000f3d0106506263616263'],
    [abc, '3f6162630300ff172e787801000f2f0006506263616263'],
    [ids, 'a17b2272756e5f6964223a09007331222c22747572120020747212002f7d0a25000e1f322500110f4a0011505f32227d0a'],
    [ids, 'a17b2272756e5f6964223a09007331222c22747572120020747212002f7d0a25000e1e3225000f4a0023505f32227d0a'],
  ])('%j is read', (text, block) => {
    const size = Buffer.byteLength(text)
    expect(unpack(Buffer.from(block, 'hex'), none, size).toString()).toBe(text)
    expect(() => unpack(Buffer.from(block, 'hex'), none, size + 1)).toThrow(RangeError)
    if (size > 0) expect(() => unpack(Buffer.from(block, 'hex'), none, size - 1)).toThrow(RangeError)
  })
})

describe('LZ4: damage', () => {
  /** The bytes of a block, or that it is refused. Any other error fails. */
  function outcome(block: Uint8Array, before: Uint8Array, size: number, around: number): string {
    try {
      return unpack(block, before, size, around).toString('hex')
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError)
      return 'refused'
    }
  }

  /** The same block in the middle of two memories that differ around it: bytes outside would show. */
  function outcomeWithin(block: Uint8Array, before: Uint8Array, size: number): string {
    const [one, other] = [0x00, 0xff].map((around) => outcome(block, before, size, around))
    expect(one).toBe(other)
    return one ?? ''
  }

  test('any bytes are read or refused, and never from outside', () => {
    const some = fc.uint8Array({ maxLength: 60 })
    fc.assert(
      fc.property(some, some, fc.nat({ max: 500 }), (block, before, size) => {
        outcomeWithin(block, before, size)
      }),
      { ...options, numRuns: 5_000 },
    )
  })

  test('a block with any byte changed, cut at any place, or lengthened is read or refused, and never from outside', () => {
    const data = Buffer.from(`${'{"run_id":"run_1","text":"Grüße"}\n'.repeat(9)}${'x'.repeat(300)}end.`)
    const before = Buffer.from('{"run_id":"run_1"}')
    const block = blockOf(data, before)
    expect(outcomeWithin(block, before, data.length)).toBe(data.toString('hex'))
    let refused = 0
    for (let at = 0; at < block.length; at++) {
      for (let bit = 1; bit < 256; bit *= 2) {
        const changed = block.slice()
        changed[at] = (changed[at] ?? 0) ^ bit
        if (outcomeWithin(changed, before, data.length) === 'refused') refused += 1
      }
      expect(outcomeWithin(block.subarray(0, at), before, data.length), `cut at ${at}`).toBe('refused')
    }
    expect(refused).toBeGreaterThan(block.length)
    for (let byte = 0; byte < 256; byte++)
      expect(outcomeWithin(Buffer.concat([block, Buffer.from([byte])]), before, data.length)).toBe('refused')
    for (const size of [0, 1, data.length - 1, data.length + 1, 3_000_000])
      expect(outcomeWithin(block, before, size)).toBe('refused')
    expect(outcomeWithin(block, before.subarray(1), data.length)).not.toBe(data.toString('hex'))
  })
})
