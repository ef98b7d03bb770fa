import { normalised } from './normal-form.ts'
import { type Joining, joinedReadings, lineEndForms, lineForms, type Reading, readingsOf } from './reading.ts'

/** A secret needs this many characters: a shorter one occurs by chance in ids, numbers and words. */
export const shortest_secret = 8

/**
 * What to look for in the readings of a text, in lower case: the secret, how it reads when it looks as if it had
 * escapes itself, its lines with other ends and joined, its spaces as a web form writes them, and its bytes in hex and
 * in base64, wherever they stand in what was encoded, so that `Basic` credentials with any user name are covered.
 */
export function formsOf(secret: string): readonly string[] {
  const texts = [...readingsOf(secret)].flatMap((reading) => [reading, normalised(reading) ?? reading])
  const forms = [
    ...texts.flatMap(({ text }) => lineForms(text)).flatMap((text) => [text, text.replaceAll(' ', '+')]),
    ...lineEndForms(secret).flatMap((text) => byteForms(new TextEncoder().encode(text))),
  ]
  return [...new Set(forms.map(inLowerCase))].filter(({ length }) => length >= shortest_secret)
}

/** With as many characters as before: only this one letter has two in lower case. */
export const inLowerCase = (text: string) => text.replaceAll('\u0130', 'i').toLowerCase()

/** How a secret with letters that are not ASCII reads in normal form, which may be ASCII. */
export function normalFormsOf(secret: string): readonly string[] {
  const normals = [...readingsOf(secret)].map((reading) => normalised(reading)?.text)
  return normals.filter((text) => text !== undefined).map(inLowerCase)
}

/** What to look for besides a secret as it is. */
interface Sought {
  readonly joinings: readonly Joining[]
  /** Whether the normal form of a text may contain a secret. */
  isNormalSought(text: string): boolean
}

/** A reading, also with its lines joined, and each of them in normal form where that may contain a secret. */
export function* variantsOf(reading: Reading, { joinings, isNormalSought }: Sought): Generator<Reading> {
  yield* withNormal(reading, isNormalSought)
  for (const joined of joinedReadings(reading, joinings)) yield* withNormal(joined, isNormalSought)
}

function* withNormal(reading: Reading, isNormalSought: Sought['isNormalSought']): Generator<Reading> {
  yield reading
  const normal = isNormalSought(reading.text) ? normalised(reading) : undefined
  if (normal !== undefined) yield normal
}

const byteForms = (bytes: Uint8Array): readonly string[] => [
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
  ...base64Forms(bytes),
]

/** Three bytes are four characters, so there are three places to stand. Characters that neighbours share are left out. */
function base64Forms(bytes: Uint8Array): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const padded = new Uint8Array(before + bytes.length)
    padded.set(bytes, before)
    const whole = btoa(Array.from(padded, (byte) => String.fromCharCode(byte)).join(''))
    const text = whole.slice(Math.ceil((before * 8) / 6), Math.floor((padded.length * 8) / 6))
    return [text, text.replaceAll('+', '-').replaceAll('/', '_')]
  })
}
