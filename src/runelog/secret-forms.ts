/** A secret needs this many characters: a shorter one occurs by chance in ids, numbers and words. */
export const shortest_secret = 8

/**
 * Every way in which a secret is usually written: as it is, in other case,
 * escaped for JSON, percent-encoded, in hex, and in base64 wherever it stands in
 * what was encoded, so that `Basic` credentials with any user name are covered.
 */
export function formsOf(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret)
  const escaped = escapedJson(secret)
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  const forms = [
    secret,
    secret.toLowerCase(),
    secret.toUpperCase(),
    escaped,
    escapedJson(escaped),
    escaped.replaceAll('/', '\\/'),
    asciiJson(escaped),
    ...percentForms(secret),
    htmlEscaped(secret),
    hex,
    hex.toUpperCase(),
    ...base64Forms(bytes),
  ]
  return [...new Set(forms)].filter((form) => form.length >= shortest_secret)
}

const escapedJson = (text: string) => JSON.stringify(text).slice(1, -1)

const asciiJson = (escaped: string) =>
  escaped.replaceAll(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** As a part of a URL, strictly by RFC 3986, and as a form does it; with digits of either case. */
function percentForms(secret: string): readonly string[] {
  const part = encodeURIComponent(secret.toWellFormed())
  const strict = part.replaceAll(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
  const form = strict.replaceAll('%20', '+').replaceAll('~', '%7E')
  const lower = (text: string) => text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())
  return [part, strict, form].flatMap((text) => [text, lower(text)])
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const htmlEscaped = (text: string) => text.replaceAll(/[&<>"']/g, (c) => entities[c] ?? c)

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
