import { faults } from '../faults/catalogue.ts'
import { canonicalJson } from '../kernel/canonical-json.ts'
import type { Json } from '../kernel/json.ts'
import { createMatcher, type Match, type Matcher } from './matcher.ts'
import { formsOf, shortest_secret } from './secret-forms.ts'

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

/** Finds nothing, for a store without secrets. */
const blind: Matcher = { next: () => undefined, begunAtEnd: () => 0 }

/**
 * A secret is replaced wherever it occurs, in each of its usual forms: as a
 * string, inside a longer one, as a key, as the digits of a number. One that is
 * too short is refused, since it would be found in texts that have nothing to
 * do with it.
 */
export function createRedactor({ secrets = new Map(), secret_fields = [] }: Secrets): Redactor {
  for (const [name, value] of secrets) refuseShort(name, value)
  const forms = [...secrets].flatMap(([name, value]) => formsOf(value).map((form) => ({ name, form })))
  const plain = forms.length === 0 ? blind : createMatcher(forms.map(({ form }) => form))
  // Escaping works character by character, so a form is in a value only if its escaped form is in the JSON text.
  const escaped = forms.length === 0 ? blind : createMatcher(forms.map(({ form }) => JSON.stringify(form).slice(1, -1)))
  const fields = new Set(secret_fields)
  const labels = secret_fields.map((field) => `${JSON.stringify(field)}:`)

  function redactText(text: string): string {
    let out = ''
    let done = 0
    for (const { from, to, pattern } of spansIn(text, plain)) {
      out += `${text.slice(done, from)}[secret:${forms[pattern]?.name}]`
      done = to
    }
    return done === 0 ? text : out + text.slice(done)
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
      let cut = text.length - plain.begunAtEnd(text)
      // A secret that is there as a whole is not torn either, however its end looks.
      for (const { from, to } of spansIn(text, plain).toReversed()) if (from < cut && cut < to) cut = from
      return cut
    },
    clean(value) {
      const text = canonicalJson(value)
      const isSuspect = escaped.next(text, 0) !== undefined || labels.some((label) => text.includes(label))
      if (!isSuspect) return { value, text }
      const cleaned = walk(value)
      return { value: cleaned, text: canonicalJson(cleaned) }
    },
    find(text) {
      const match = plain.next(text, 0)
      return match === undefined ? undefined : forms[match.pattern]?.name
    },
  }
}

function refuseShort(name: string, value: string) {
  if (value.length >= shortest_secret) return
  throw faults.bad_definition({
    what: 'config',
    name: 'statewright',
    problem: `secrets.${name} has ${value.length} characters; a secret needs at least ${shortest_secret}, since a shorter one occurs by chance in ids and numbers. Use a longer secret, or leave it out.`,
  })
}

/** Where secrets stand. Those that overlap are one span, named after the longest of them. */
function spansIn(text: string, matcher: Matcher): Match[] {
  const spans: Match[] = []
  for (let match = matcher.next(text, 0); match !== undefined; match = matcher.next(text, match.from + 1)) {
    const last = spans.at(-1)
    if (last === undefined || match.from >= last.to) spans.push(match)
    else if (match.to > last.to) {
      const isLonger = match.to - match.from > last.to - last.from
      spans[spans.length - 1] = { from: last.from, to: match.to, pattern: isLonger ? match.pattern : last.pattern }
    }
  }
  return spans
}
