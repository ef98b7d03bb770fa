import { canonicalJson } from '../kernel/canonical-json.ts'
import type { Json } from '../kernel/json.ts'

/** Takes registered secrets out of a value. If it throws, the write that needed it fails. */
export interface Redactor {
  /** The canonical text of the value without its secrets, and the value itself. */
  clean(value: Json): { readonly value: Json; readonly text: string }
  /** How much of a text may be cleaned and passed on while more of it is to come: up to what may be the beginning of a secret. */
  settledLength(text: string): number
  /** The name of a secret that this text contains. */
  find(text: string): string | undefined
}

export interface Secrets {
  /** By name; the name is what will be read in place of the value. */
  readonly secrets?: ReadonlyMap<string, string>
  /** Names of fields whose values are secret wherever they occur. */
  readonly secret_fields?: readonly string[]
}

/**
 * A secret is replaced wherever it occurs: as a string, inside a longer one, as
 * a key, as the digits of a number. Shorter secrets than four characters are
 * refused, since they would be found everywhere.
 */
export function createRedactor({ secrets = new Map(), secret_fields = [] }: Secrets): Redactor {
  for (const [name, value] of secrets)
    if (value.length < 4) throw new TypeError(`The secret ${name} is shorter than four characters.`)
  // The longest first: a secret that contains another one is named as itself.
  const known = [...secrets]
    .map(([name, value]) => ({ value, escaped: JSON.stringify(value).slice(1, -1), mark: `[secret:${name}]`, name }))
    .sort((a, b) => b.value.length - a.value.length)
  const fields = new Set(secret_fields)
  const labels = secret_fields.map((field) => `${JSON.stringify(field)}:`)

  function redactText(text: string): string {
    return known.reduce((out, { value, mark }) => out.replaceAll(value, mark), text)
  }

  function walk(value: Json): Json {
    if (typeof value === 'string') return redactText(value)
    if (typeof value === 'number') {
      const text = redactText(String(value))
      return text === String(value) ? value : text
    }
    if (value === null || typeof value === 'boolean') return value
    if (Array.isArray(value)) return value.map(walk)
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [
        redactText(key),
        fields.has(key) ? `[secret:${key}]` : walk(member),
      ]),
    )
  }

  return {
    settledLength(text) {
      let cut = text.length
      for (const { value } of known) cut = Math.min(cut, text.length - begunAtEnd(text, value))
      // A secret that is there as a whole is not torn either, however its end looks.
      for (let before = -1; before !== cut; ) {
        before = cut
        for (const { value } of known) {
          const at = text.indexOf(value, Math.max(0, cut - value.length + 1))
          if (at >= 0 && at < cut) cut = at
        }
      }
      return cut
    },
    clean(value) {
      const text = canonicalJson(value)
      // Escaping works character by character, so a secret is in the value only if its escaped form is in the text.
      const suspect = known.some((s) => text.includes(s.escaped)) || labels.some((label) => text.includes(label))
      if (!suspect) return { value, text }
      const cleaned = walk(value)
      return { value: cleaned, text: canonicalJson(cleaned) }
    },
    find: (text) => known.find((s) => text.includes(s.value))?.name,
  }
}

/** How many characters at the end of a text are the beginning of a secret, and not all of it. */
function begunAtEnd(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length > 0; length--)
    if (text.endsWith(secret.slice(0, length))) return length
  return 0
}
