import { normalised, unwrapped } from './normal-form.ts'
import { type Reading, readingsOf } from './reading.ts'

/** A secret needs this many characters: a shorter one occurs by chance in ids, numbers and words. */
export const shortest_secret = 8

/**
 * What to look for in the readings of a text, in lower case: the secret, how it
 * reads when it looks as if it had escapes itself, its spaces as a web form
 * writes them, and its bytes in hex and in base64, wherever they stand in what
 * was encoded, so that `Basic` credentials with any user name are covered.
 */
export function formsOf(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret)
  const texts = [...readingsOf(secret)].flatMap((reading) => [reading, normalised(reading) ?? reading])
  const forms = [
    ...texts.flatMap(({ text }) => [text, text.replaceAll(' ', '+')]),
    [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
    ...base64Forms(bytes),
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

/** A reading, also with its lines joined, and each of them in normal form where that may contain a secret. */
export function* variantsOf(reading: Reading, isNormalSought: (text: string) => boolean): Generator<Reading> {
  const joined = unwrapped(reading)
  for (const one of joined === undefined ? [reading] : [reading, joined]) {
    yield one
    const normal = isNormalSought(one.text) ? normalised(one) : undefined
    if (normal !== undefined) yield normal
  }
}

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
