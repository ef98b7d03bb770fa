import type { StoredRecord } from '../../runes/record.ts'
import { beginSource, compress, decompress, dictionaryOf } from './lz4.ts'
import { recordDictionary } from './record-dictionary.ts'

/** The columns of a record that can be packed. A text stands for itself. */
interface Packed {
  readonly header: string | Uint8Array
  readonly payload: string | Uint8Array
}

type Texts = Pick<StoredRecord, 'event_id' | 'header' | 'payload' | 'salt'>

/** Shorter payloads are not worth the time. */
const leastPacked = 512
/** The longest text that is packed at once. A longer one would block the event loop, and is rare. */
const mostPacked = 1 << 20

/** In front of a packed header: the length of its text in two bytes, and the number of its digests in one. */
const headerPrefix = 3
const mostText = 0xffff
const mostDigests = 0xff
/** In front of packed payloads: their length in four bytes. */
const payloadPrefix = 4

/** In the text of a packed header, they stand for its first event, and for the digest of a payload. JSON has neither. */
const eventMark = '\u0002'
const digestMark = '\u0001'
const eventLabel = '"event_id":'
const digestLabel = '"payload_sha256":"'
/** Pieces of the labels that are found quickly: the engine looks for their first letter, and for few letters at once. */
const inEventLabel = 'vent_i'
const inDigestLabel = 'sha256'
const digestDigits = 64
const digestBytes = digestDigits / 2

const leastRoom = 1 << 14
const known = Buffer.from(recordDictionary)
const dictionary = dictionaryOf(known)
const begin = known.length

/** The dictionary, then the text of a header, then the payloads. */
let memory = known
let target = Buffer.alloc(0)

function makeRoom(length: number): void {
  if (length <= memory.length) return
  const larger = Buffer.alloc(length + leastRoom)
  memory.copy(larger)
  memory = larger
  target = Buffer.alloc(larger.length)
}

/** A header with marks for its first event and its digests: they follow from other columns, or are stored as bytes. */
interface Bare {
  readonly text: string
  /** Hex, one after the other. */
  readonly digests: string
}

/** Undefined: `whole` would not give the same header back. */
function bareOf(header: string, first: number): Bare | undefined {
  const event = eventLabel + first
  const at = header.indexOf(inEventLabel) - eventLabel.indexOf(inEventLabel)
  if (!header.startsWith(`${event},`, at) || header.includes(eventMark) || header.includes(digestMark)) return undefined
  let text = header.slice(0, at) + eventMark
  let digests = ''
  let rest = at + event.length
  for (;;) {
    const label = header.indexOf(inDigestLabel, rest) - digestLabel.indexOf(inDigestLabel)
    if (label < rest) break
    const digest = label + digestLabel.length
    if (!header.startsWith(digestLabel, label) || header[digest + digestDigits] !== '"') return undefined
    text += header.slice(rest, label) + digestMark
    digests += header.slice(digest, digest + digestDigits)
    rest = digest + digestDigits + 1
  }
  return { text: text + header.slice(rest), digests }
}

/** The header of a bare one. */
function whole({ text, digests }: Bare, first: number): string {
  const event = text.indexOf(eventMark)
  if (event < 0) throw malformed()
  let header = text.slice(0, event) + eventLabel + first
  let digest = 0
  let rest = event + 1
  for (let mark = text.indexOf(digestMark, rest); mark >= 0; mark = text.indexOf(digestMark, rest)) {
    header += `${text.slice(rest, mark)}${digestLabel}${digests.slice(digest, digest + digestDigits)}"`
    digest += digestDigits
    rest = mark + 1
  }
  if (digest !== digests.length) throw malformed()
  return header + text.slice(rest)
}

const malformed = () => new RangeError('its header has another form than any that is packed')

/** The first event of a record: there is a salt, or the place of one, for each event. */
function firstEvent({ event_id, salt }: Pick<Texts, 'event_id' | 'salt'>): number {
  let first = event_id
  for (let at = salt.indexOf('\n'); at >= 0; at = salt.indexOf('\n', at + 1)) first -= 1
  return first
}

/** Puts the bytes of a header behind the dictionary, and returns their end. The payloads follow on them. */
const putHeader = (text: string) => begin + memory.write(text, begin)

/** The columns of a record: each is packed if that is shorter. The payloads repeat each other and the header. */
export function packed(record: Texts): Packed {
  const { header, payload } = record
  if (header.length > mostPacked) return { header, payload }
  const isPacked = payload.length >= leastPacked && payload.length <= mostPacked
  makeRoom(begin + 3 * (header.length + (isPacked ? payload.length : 0)))
  beginSource(memory.length)
  const bare = bareOf(header, firstEvent(record))
  const middle = putHeader(bare?.text ?? header)
  const bytes = bare && packedHeader(bare, middle)
  return { header: bytes ?? header, payload: isPacked ? packedPayload(payload, middle) : payload }
}

function packedHeader({ digests }: Bare, end: number): Uint8Array | undefined {
  const count = digests.length / digestDigits
  if (end - begin > mostText || count > mostDigests) return undefined
  const block = headerPrefix + count * digestBytes
  const size = compress({ bytes: memory, begin, end }, { bytes: target, begin: block, end: end - begin }, dictionary)
  target.write(digests, headerPrefix, 'hex')
  if (size < 0 || target.toString('hex', headerPrefix, block) !== digests) return undefined
  target.writeUInt16LE(end - begin)
  target[headerPrefix - 1] = count
  return copied(size)
}

function packedPayload(payload: string, middle: number): string | Uint8Array {
  const end = middle + memory.write(payload, middle)
  const room = { bytes: target, begin: payloadPrefix, end: end - middle }
  const size = compress({ bytes: memory, begin: middle, end }, room, dictionary)
  if (size < 0) return payload
  target.writeUInt32LE(end - middle)
  return copied(size)
}

/** Others may be packed before these bytes are written. */
function copied(size: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(size)
  target.copy(bytes, 0, 0, size)
  return bytes
}

type Columns = Packed & Pick<Texts, 'event_id' | 'salt'>

/** The text of a header. Throws if the bytes are not what `packed` makes. */
export function unpackedHeader(columns: Columns): string {
  const { header } = columns
  if (typeof header === 'string') return header
  const bytes = Buffer.from(header.buffer, header.byteOffset, header.byteLength)
  const block = headerPrefix + (bytes[headerPrefix - 1] ?? mostDigests) * digestBytes
  if (bytes.length < block) throw malformed()
  const end = begin + twoBytes(bytes, 0)
  makeRoom(end)
  decompress({ bytes, begin: block, end: bytes.length }, { bytes: memory, begin, end })
  const text = memory.toString('utf8', begin, end)
  return whole({ text, digests: bytes.toString('hex', headerPrefix, block) }, firstEvent(columns))
}

const twoBytes = (bytes: Uint8Array, at: number) => (bytes[at] ?? 0) + 256 * (bytes[at + 1] ?? 0)

/** The texts of packed columns. Throws if the bytes are not what `packed` makes. */
export function unpacked(columns: Columns): Pick<Texts, 'header' | 'payload'> {
  const header = unpackedHeader(columns)
  const { payload } = columns
  if (typeof payload === 'string') return { header, payload }
  const length =
    payload.length < payloadPrefix ? Number.POSITIVE_INFINITY : twoBytes(payload, 0) + 65_536 * twoBytes(payload, 2)
  if (length > 3 * mostPacked) throw new RangeError('it is longer than any that is packed')
  makeRoom(begin + 3 * header.length + length)
  const middle =
    typeof columns.header === 'string'
      ? putHeader(bareOf(header, firstEvent(columns))?.text ?? header)
      : begin + twoBytes(columns.header, 0)
  const end = middle + length
  decompress({ bytes: payload, begin: payloadPrefix, end: payload.length }, { bytes: memory, begin: middle, end })
  return { header, payload: memory.toString('utf8', middle, end) }
}
