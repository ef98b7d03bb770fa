import { Buffer } from 'node:buffer'

const hex = (code: number | undefined, digits: number) => (code ?? 0).toString(16).padStart(digits, '0')
const units = (text: string) => Array.from({ length: text.length }, (_, i) => text.charCodeAt(i))
const percentOf = (text: string) => [...Buffer.from(text)].map((byte) => `%${hex(byte, 2)}`).join('')
const mixed = (text: string) => text.replaceAll(/[a-z]/gi, (c, at) => (at % 2 ? c.toUpperCase() : c.toLowerCase()))

/** Ways to write a secret that keep nothing of it but its letters. */
export const written: Readonly<Record<string, (secret: string) => string>> = {
  'as it is': (s) => s,
  'in mixed case': mixed,
  'as JSON': (s) => JSON.stringify(s).slice(1, -1),
  'as JSON in JSON in JSON': (s) =>
    JSON.stringify(JSON.stringify(JSON.stringify(s).slice(1, -1)).slice(1, -1)).slice(1, -1),
  'with every letter as \\u00xx': (s) =>
    units(s)
      .map((code) => `\\u${hex(code, 4)}`)
      .join(''),
  'with every letter as \\u{x}': (s) => [...s].map((c) => `\\u{${hex(c.codePointAt(0), 2)}}`).join(''),
  'with every byte as \\xhh': (s) => [...Buffer.from(s)].map((byte) => `\\x${hex(byte, 2)}`).join(''),
  'with every byte as %hh': percentOf,
  'with every byte as %HH': (s) => percentOf(s).toUpperCase(),
  'with every letter as a decimal entity': (s) => [...s].map((c) => `&#${c.codePointAt(0)};`).join(''),
  'with every letter as a hex entity': (s) => [...s].map((c) => `&#x${hex(c.codePointAt(0), 2)};`).join(''),
  'percent-encoded JSON': (s) => encodeURIComponent(JSON.stringify(s).slice(1, -1)),
  'percent-encoded twice': (s) => percentOf(percentOf(s)),
  'in NFC': (s) => s.normalize('NFC'),
  'in NFD': (s) => s.normalize('NFD'),
  'in NFD of upper case': (s) => s.toUpperCase().normalize('NFD'),
  'in mixed-case hex': (s) => mixed(Buffer.from(s).toString('hex')),
}
