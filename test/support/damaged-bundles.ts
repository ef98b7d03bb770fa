import { hostPorts } from '../../src/adapters/host/ports.ts'
import { linesOf, link, payloadDigest, type StoredRecord } from '../../src/runes/record.ts'
import type { Dice } from './dice.ts'
import { type Parts, stranger, written } from './random-bundles.ts'

const { sha256 } = hostPorts

/** A damage. Undefined: the file has no place for it. It may also leave a file that is sound. */
type Damage = (parts: Parts, dice: Dice) => string | Uint8Array | undefined

const bytesOf = (parts: Parts) => Buffer.from(written(parts))

/** The records with other headers, hashed again from the first that changed, as an attacker does who cannot sign. */
function hashedAgain(records: readonly StoredRecord[], change: (record: StoredRecord, i: number) => StoredRecord) {
  let prev_hash = '0'.repeat(64)
  return records.map((record, i) => {
    const changed = change(record, i)
    prev_hash = link(prev_hash, changed.header, sha256)
    return { ...changed, hash: prev_hash }
  })
}

/** One record at random with a change, and all others. */
function changeOne({ records, ...rest }: Parts, dice: Dice, change: (record: StoredRecord) => StoredRecord): Parts {
  const chosen = dice.below(records.length)
  return { ...rest, records: records.map((record, i) => (i === chosen ? change(record) : record)) }
}

/** The last line as it was signed, after other lines. */
function signedBefore(before: Parts, after: Parts): string {
  const lines = written(after).split('\n')
  return lines.with(-2, written(before).split('\n').at(-2) ?? '').join('\n')
}

/** A change of a text at one place that matches. */
function at(text: string, pattern: RegExp, dice: Dice, change: (found: string) => string): string | undefined {
  const places = [...text.matchAll(new RegExp(pattern, 'g'))]
  if (places.length === 0) return undefined
  const { 0: found, index } = dice.pick(places)
  return text.slice(0, index) + change(found) + text.slice(index + found.length)
}

/** A change of one line of the payload or the salt of a record. */
const withLine = (text: string, dice: Dice, change: (line: string) => string) => {
  const lines = linesOf(text)
  const i = dice.below(lines.length)
  return lines.with(i, change(lines[i] ?? '')).join('\n')
}

const otherDigit = (digit: string) => ((Number.parseInt(digit, 16) + 1) % 16).toString(16)
const escaped = (found: string) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Ways to write a header otherwise. Some are headers still. */
const otherHeaders: readonly ((text: string, dice: Dice) => string | undefined)[] = [
  (text) => text.replace('{', '{ '),
  (text) => text.replace(/"actor":"[a-z_]+"/, '"actor":"\\ud800"'),
  (text) => text.replace(/"agent_id":"[^"]*"/, '"agent_id":"\\udc00"'),
  (text) => text.replace(/"because":"[^"]*"/, '"because":"\\ud800"'),
  (text) => JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text)).reverse())),
  (text) => text.replace(/"at":(\d+)/, '"at":$1.0'),
  (text) => text.replace(/"at":(\d+)/, '"at":$1.5'),
  (text) => text.replace(/"at":(\d+)/, '"at":1e21'),
  (text) => text.replace(/"at":(\d+)/, '"at":1e+21'),
  (text) => text.replace(/"at":(\d+)/, '"at":0.000001'),
  (text) => text.replace(/"at":(\d+)/, '"at":1e-7'),
  (text) => text.replace(/"at":(\d+)/, '"at":-0'),
  (text) => text.replace(/"at":(\d+)/, '"at":100000000000000000000'),
  (text) => text.replace(/"at":(\d+)/, '"at":9007199254740993'),
  (text) => text.replace(/"at":(\d+)/, '"at":123456789012345680000'),
  (text) => text.replace(/"at":(\d+)/, '"at":1e999'),
  (text) => text.replace(/"at":(\d+)/, '"at":NaN'),
  (text) => text.replace(/"at":(\d+)/, '"at":null'),
  (text) => text.replace(/"at":(\d+)/, '"at":true'),
  (text) => text.replace(/"at":\d+,?/, ''),
  (text) => text.replace(/"actor":"\w+"/, '"actor":null'),
  (text) => text.replace(/"actor":"\w+",/, ''),
  (text) => text.replace(/"actor":"(\w)/, '"actor":"\\u0041'),
  (text) => text.replace(/"kind":/, '"kind":"x","kind":'),
  (text) => text.replace(/"kind":/, '"kinds":'),
  (text) => text.replace(/"event_id":\d+/, '"event_id":"1"'),
  (text) => text.replace(/"runes":\[.*\]/, '"runes":[]'),
  (text) => text.replace(/"runes":\[.*\]/, '"runes":{}'),
  (text) => text.replace(/"runes":\[/, '"runes":[[],'),
  (text) => text.replace(/"session_id"/, '"run_id":null,"session_id"'),
  (text) => text.replace(/"session_id"/, '"run_id":7,"session_id"'),
  (text) => text.replace(/"move":\[("\w+"),.*?\]/, '"move":[$1]'),
  (text) => text.replace(/"payload_sha256":"\w+"/, '"payload_sha256":null'),
  (text) =>
    text.replace(/"payload_sha256":"(\w+)"/, (_, digest: string) => `"payload_sha256":"${digest.toUpperCase()}"`),
  (text) => text.replace(/("kind":"[\w.]+")/, '"guards":[],$1'),
  (text) => text.replace(/("kind":"[\w.]+")/, '"guards":{},$1'),
  (text) => text.replace(/"schema_version":\d+/, '"schema_version":"2"'),
  (text, dice) => at(text, /"[a-z_]+":/, dice, () => '"__proto__":'),
  (text) => text.replace(/.*/, 'null'),
  (text) => text.replace(/.*/, '[]'),
]

/** Every way to damage a bundle, by name. */
export const damages: Readonly<Record<string, Damage>> = {
  'a flipped bit'(parts, dice) {
    const bytes = bytesOf(parts)
    const i = dice.below(bytes.length)
    return bytes.fill((bytes[i] ?? 0) ^ (1 << dice.below(8)), i, i + 1)
  },
  'another byte'(parts, dice) {
    const bytes = bytesOf(parts)
    bytes[dice.below(bytes.length)] = dice.below(256)
    return bytes
  },
  'an inserted byte'(parts, dice) {
    const bytes = bytesOf(parts)
    const i = dice.below(bytes.length + 1)
    const byte = dice.once(2) ? dice.below(256) : dice.pick([...Buffer.from(' \n\r\t0",\\')])
    return Buffer.concat([bytes.subarray(0, i), Buffer.from([byte]), bytes.subarray(i)])
  },
  'deleted bytes'(parts, dice) {
    const bytes = bytesOf(parts)
    const i = dice.below(bytes.length - 1)
    return Buffer.concat([bytes.subarray(0, i), bytes.subarray(i + 1 + dice.below(3))])
  },
  'a file that ends early': (parts, dice) => bytesOf(parts).subarray(0, dice.below(written(parts).length)),
  'a last line that is missing': (parts) => written(parts).split('\n').slice(0, -2).join('\n'),
  'no line feed at the end': (parts) => written(parts).trimEnd(),
  'an empty line at the end': (parts) => `${written(parts)}\n`,
  'an empty file': () => '',
  'two lines that changed places'(parts, dice) {
    const lines = written(parts).split('\n')
    const [i, j] = [dice.below(lines.length - 1), dice.below(lines.length - 1)]
    return lines
      .with(i, lines[j] ?? '')
      .with(j, lines[i] ?? '')
      .join('\n')
  },
  'a line that is gone'(parts, dice) {
    const lines = written(parts).split('\n')
    return lines.toSpliced(dice.below(lines.length - 1), 1).join('\n')
  },
  'a line twice'(parts, dice) {
    const lines = written(parts).split('\n')
    const i = dice.below(lines.length - 1)
    return lines.toSpliced(i, 0, lines[i] ?? '').join('\n')
  },
  'carriage returns': (parts) => written(parts).replaceAll('\n', '\r\n'),
  'one carriage return': (parts, dice) => at(written(parts), /\n/, dice, () => '\r\n'),
  'another salt': (parts, dice) =>
    signedBefore(
      parts,
      changeOne(parts, dice, (record) => ({
        ...record,
        salt: withLine(record.salt, dice, (salt) => (salt === '' ? '0'.repeat(32) : salt.replace(/^./, otherDigit))),
      })),
    ),
  'a salt that is gone': (parts, dice) =>
    signedBefore(
      parts,
      changeOne(parts, dice, (record) => ({ ...record, salt: withLine(record.salt, dice, () => '') })),
    ),
  'a salt in capitals': (parts, dice) =>
    signedBefore(
      parts,
      changeOne(parts, dice, (record) => ({ ...record, salt: record.salt.toUpperCase() })),
    ),
  'another payload': (parts, dice) =>
    signedBefore(
      parts,
      changeOne(parts, dice, (record) => ({
        ...record,
        payload: withLine(record.payload, dice, (payload) =>
          dice.pick([`${payload} `, '{}', 'null', '', '{"content":"[redacted]"}', payload.replace(/\w/, 'X')]),
        ),
      })),
    ),
  'a payload as if it was redacted': (parts, dice) =>
    signedBefore(
      parts,
      changeOne(parts, dice, (record) => ({ ...record, payload: '{"content":"[redacted]"}', salt: '' })),
    ),
  'lines of payloads more or less': (parts, dice) =>
    signedBefore(
      parts,
      changeOne(parts, dice, (record) => {
        const payload = dice.once(2) ? `${record.payload}\n{}` : linesOf(record.payload).slice(1).join('\n')
        return { ...record, payload, salt: dice.once(2) ? record.salt : `${record.salt}\n` }
      }),
    ),
  'two payloads that changed places': (parts, dice) =>
    signedBefore(
      parts,
      changeOne(parts, dice, (record) => ({ ...record, payload: linesOf(record.payload).toReversed().join('\n') })),
    ),
  'a changed text': (parts, dice) => at(written(parts), /[a-z]{4,}/, dice, (word) => word.replace(/.$/, 'X')),
  'a changed number': (parts, dice) => at(written(parts), /(?<=:)\d+/, dice, (digits) => String(Number(digits) + 1)),
  'a changed hex digit': (parts, dice) => at(written(parts), /(?<=[0-9a-f]{20})[0-9a-f]/, dice, otherDigit),
  'another signature': (parts, dice) =>
    at(written(parts), /(?<="signature":")[0-9a-f]{128}/, dice, () => parts.signer.sign('something else')),
  'a signature that was moved'(parts) {
    const [checkpoint = '', bundle = ''] = (written(parts).match(/(?<="signature":")[0-9a-f]{128}/g) ?? []).slice(-2)
    return written(parts).replace(checkpoint, bundle)
  },
  'a signature with a larger S': (parts, dice) =>
    at(written(parts), /(?<="signature":"[0-9a-f]{64})[0-9a-f]{64}/, dice, (half) => {
      const order = 2n ** 252n + 27742317777372353535851937790883648493n
      const s = BigInt(`0x${Buffer.from(half, 'hex').reverse().toString('hex')}`) + order
      return Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse().toString('hex')
    }),
  'a key of small order': (parts, dice) => {
    const key =
      dice.pick(['00', '01', 'ec', 'ed', 'ee']).padEnd(62, dice.pick(['0', 'f'])) + dice.pick(['00', '7f', '80', 'ff'])
    return written(parts)
      .replaceAll(parts.signer.public_key, key)
      .replace(/(?<="signature":")[0-9a-f]{128}/g, `01${'0'.repeat(126)}`)
  },
  'no signature of the bundle': (parts) => written(parts).replace(/,"signature":"[0-9a-f]{128}"\}\n$/, '}\n'),
  'a signature that is a list': (parts) => written(parts).replace(/"[0-9a-f]{128}"\}\n$/, '[]}\n'),
  'a signature of another type': (parts, dice) =>
    written(parts).replace(/"[0-9a-f]{128}"\}\n$/, `${dice.pick(['null', '1', 'true', '""', '1.0', '1.5'])}}\n`),
  'the signature of another key': (parts) => written({ ...parts, signer: stranger }),
  'another key in its place': (parts, dice) =>
    at(written(parts), new RegExp(parts.signer.public_key), dice, () => stranger.public_key),
  'a key in capitals': (parts, dice) =>
    at(written(parts), /"[0-9a-f]{64,128}"/, dice, (digits) => digits.toUpperCase()),
  'the name of another session': (parts) =>
    signedBefore(parts, { ...parts, head: { ...parts.head, session_id: 'ses_other' } }),
  'another machine': (parts, dice) =>
    signedBefore(parts, {
      ...parts,
      head: { ...parts.head, machines: dice.pick([{}, { session: 'x' }, { ...parts.head.machines, a: 'b' }]) },
    }),
  'a machine that is no text': (parts, dice) =>
    written(parts).replace('"machines":{', `"machines":{"x":${dice.pick(['1', 'null', '{}', '[]'])},`),
  'another version': (parts, dice) =>
    written(parts).replace('"version":2', `"version":${dice.pick([0, 3, '"2"', 2.5])}`),
  'records hashed again': (parts, dice) =>
    signedBefore(parts, {
      ...parts,
      records: hashedAgain(changeOne(parts, dice, (record) => otherTime(record)).records, (record) => record),
    }),
  'a payload hashed again': (parts, dice) =>
    signedBefore(parts, {
      ...parts,
      records: hashedAgain(changeOne(parts, dice, (record) => otherSalt(record, dice)).records, (record) => record),
    }),
  'records hashed and signed again': (parts, dice) =>
    written({
      ...parts,
      signer: dice.pick([parts.signer, stranger]),
      records: hashedAgain(changeOne(parts, dice, (record) => otherTime(record)).records, (record) => record),
    }),
  'another header, hashed and signed again': (parts, dice) =>
    written({
      ...parts,
      records: hashedAgain(
        changeOne(parts, dice, (record) => ({
          ...record,
          header: dice.pick(otherHeaders)(record.header, dice) ?? record.header,
        })).records,
        (record) => record,
      ),
    }),
  'a record that is gone, hashed and signed again': (parts, dice) =>
    written({ ...parts, records: parts.records.toSpliced(dice.below(parts.records.length), 1) }),
  spaces: (parts, dice) =>
    at(written(parts), /[:,{}[\]]/, dice, (sign) => dice.pick([`${sign} `, ` ${sign}`, `\t${sign}`])),
  'an escape that is not needed': (parts, dice) => at(written(parts), /[a-z0-9]/, dice, escaped),
  'an escaped slash': (parts, dice) => at(written(parts), /\//, dice, () => '\\/'),
  'an escape in capitals': (parts, dice) => at(written(parts), /(?<=\\u00)1f/, dice, () => '1F'),
  'a character that was not escaped': (parts, dice) => at(written(parts), /\\t/, dice, () => '\t'),
  'half of a pair': (parts, dice) => at(written(parts), /[é世]/, dice, () => '\\ud83d'),
  'a number written otherwise': (parts, dice) =>
    at(written(parts), /(?<=^|[:,])\d+/, dice, (digits) =>
      dice.pick([`${digits}.0`, `${digits}e0`, `-${digits}`, `0${digits}`]),
    ),
  'members in another order'(parts, dice) {
    const lines = written(parts).split('\n')
    const i = dice.below(lines.length - 1)
    const other = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(lines[i] ?? '')).reverse()))
    return lines.with(i, other).join('\n')
  },
  'a member twice': (parts, dice) =>
    at(written(parts), /(?<=\n)\{"event_id":\d+/, dice, (found) => `${found},${found.slice(1)}`),
  'a member more': (parts, dice) => at(written(parts), /\}\n/, dice, () => ',"more":1}\n'),
  'bytes that are not UTF-8': (parts, dice) =>
    Buffer.from(
      at(Buffer.from(written(parts)).toString('latin1'), /[a-z\x80-\xff]/, dice, () => '\xff') ?? '',
      'latin1',
    ),
  'a byte in place of the replacement character'(parts) {
    const bytes = bytesOf(parts)
    const at = bytes.indexOf('\ufffd')
    return at < 0 ? undefined : Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff]), bytes.subarray(at + 3)])
  },
  'a byte order mark': (parts) => `\ufeff${written(parts)}`,
  'a line of another kind'(parts, dice) {
    const lines = written(parts).split('\n')
    const other = dice.pick([
      '',
      'null',
      '[]',
      '{}',
      '1',
      '"x"',
      '["checkpoint"]',
      '{"checkpoint":null}',
      '{"checkpoint":{}}',
    ])
    return lines.toSpliced(dice.below(lines.length), 0, other).join('\n')
  },
}

const otherTime = (record: StoredRecord) => ({
  ...record,
  header: record.header.replace(/"at":(\d+)/, (_, time: string) => `"at":${Number(time) + 1}`),
})

/** One payload with another salt, and the digest that fits. */
function otherSalt(record: StoredRecord, dice: Dice): StoredRecord {
  const [payloads, salts] = [linesOf(record.payload), linesOf(record.salt)]
  const i = dice.below(salts.length)
  if (salts[i] === '') return record
  const header = JSON.parse(record.header)
  header.runes[i].payload_sha256 = payloadDigest('0'.repeat(32), payloads[i] ?? '', sha256)
  return { ...record, header: JSON.stringify(header), salt: salts.with(i, '0'.repeat(32)).join('\n') }
}
