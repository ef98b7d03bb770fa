/**
 * The LZ4 block format, which is a page long: runs of new bytes, and copies of earlier ones. It is written out here
 * because the records of a commit are short: setting up zlib takes several times as long as packing them does.
 */

/** A copy has at least this many bytes. */
const leastCopy = 4
/** The format ends with new bytes: the last copy begins and ends this long before the end. */
const lastBegin = 12
const lastEnd = 5
/** How far back a copy may reach. */
const farthest = 65_535
const hashBits = 12
/** From here on the engine copies faster than a loop. */
const longCopy = 48

/** Bytes in a memory, from one place to another. */
interface Part {
  readonly bytes: Uint8Array
  readonly begin: number
  readonly end: number
}

/** Where each hash was last seen, counted from an origin. The table is never cleared: older places are too far back. */
const places = new Int32Array(1 << hashBits)
let origin = 1
let nextOrigin = 1

/**
 * Bytes that both sides know, and with which every source begins: where each hash was last seen in them; -1 if it was not.
 * A block is packed faster than if they were read again.
 */
export function dictionaryOf(bytes: Uint8Array): Int32Array {
  const known = new Int32Array(1 << hashBits).fill(-1)
  for (let at = 0; at + leastCopy <= bytes.length; at++) known[slotOf(fourAt(bytes, at))] = at
  return known
}

/** Begins another source of at most this many bytes: copies no longer refer to the one before. */
export function beginSource(length: number): void {
  if (nextOrigin > 2 ** 30 - length) {
    places.fill(0)
    nextOrigin = 1
  }
  // Moved at once, since a block without room ends early: its places are not those of the next source.
  origin = nextOrigin
  nextOrigin += length + farthest + 1
}

/**
 * Packs a part of the source into a target, and returns the end of the block there; -1 if it has no room. Copies may reach
 * into the dictionary and into earlier parts, which the reader needs, too.
 */
export function compress({ bytes: source, begin, end: length }: Part, target: Part, dictionary: Int32Array): number {
  output = target
  put = target.begin
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength)
  let anchor = begin
  let misses = 0

  for (let at = begin; at + lastBegin < length; ) {
    const four = view.getInt32(at, true)
    const slot = slotOf(four)
    const seen = (places[slot] as number) - origin
    const before = seen < 0 ? (dictionary[slot] as number) : seen
    places[slot] = at + origin
    if (before < 0 || at - before > farthest || view.getInt32(before, true) !== four) {
      at += 1 + (misses++ >> 6)
      continue
    }
    misses = 0
    let end = at + leastCopy
    for (let from = before + leastCopy; end < length - lastEnd && source[end] === source[from]; from++) end += 1
    const copied = end - at - leastCopy
    if (!literals(source, anchor, at, copied) || put + 2 > target.end) return -1
    target.bytes[put++] = (at - before) & 0xff
    target.bytes[put++] = (at - before) >> 8
    if (!rest(copied)) return -1
    anchor = end
    at = end
  }
  return literals(source, anchor, length, 0) ? put : -1
}

const slotOf = (four: number) => Math.imul(four, 0x9e3779b1) >>> (32 - hashBits)

const fourAt = (bytes: Uint8Array, at: number) =>
  (bytes[at] as number) |
  ((bytes[at + 1] as number) << 8) |
  ((bytes[at + 2] as number) << 16) |
  ((bytes[at + 3] as number) << 24)

/** Where the block is being written, and its end so far. */
let output: Part = { bytes: new Uint8Array(), begin: 0, end: 0 }
let put = 0

/** Writes the token of a sequence and its new bytes. The token has the beginnings of both lengths. False: no room. */
function literals(source: Uint8Array, from: number, to: number, copied: number): boolean {
  const { bytes, end } = output
  const count = to - from
  if (put + 1 + count + Math.floor(count / 255) + 1 > end) return false
  bytes[put++] = (Math.min(count, 15) << 4) | Math.min(copied, 15)
  rest(count)
  for (let i = from; i < to; i++) bytes[put++] = source[i] as number
  return true
}

/** Writes the part of a length that its half of a token has no room for. False: no room. */
function rest(length: number): boolean {
  if (length < 15) return true
  const { bytes, end } = output
  let left = length - 15
  if (put + Math.floor(left / 255) + 1 > end) return false
  for (; left >= 255; left -= 255) bytes[put++] = 255
  bytes[put++] = left
  return true
}

/**
 * Unpacks a block into a part that it fills. The dictionary and the earlier parts of its source are in front of that
 * part. Throws if the block does not fit, or refers to what is not there.
 */
export function decompress({ bytes: block, begin, end }: Part, { bytes: out, begin: first, end: length }: Part): void {
  let at = begin
  let put = first
  const lengthFrom = (half: number) => {
    let whole = half
    for (let byte = half === 15 ? 255 : 0; byte === 255; whole += byte) {
      if (at >= end) throw malformed()
      byte = block[at++] as number
    }
    return whole
  }
  while (at < end) {
    const token = block[at++] as number
    const count = lengthFrom(token >> 4)
    if (put + count > length || at + count > end) throw malformed()
    for (let last = put + count; put < last; ) out[put++] = block[at++] as number
    if (at === end) break
    const distance = (block[at] as number) | ((block[at + 1] as number) << 8)
    at += 2
    const copied = lengthFrom(token & 15) + leastCopy
    if (at > end || distance === 0 || distance > put || put + copied > length) throw malformed()
    if (copied < longCopy) for (let i = put; i < put + copied; i++) out[i] = out[i - distance] as number
    // A copy may reach into itself: its bytes repeat, so each piece may be as long as all before it.
    else
      for (let done = 0; done < copied; ) {
        const size = Math.min(distance + done, copied - done)
        out.copyWithin(put + done, put - distance, put - distance + size)
        done += size
      }
    put += copied
  }
  if (put !== length) throw malformed()
}

const malformed = () => new RangeError('it is not an LZ4 block of its length')
