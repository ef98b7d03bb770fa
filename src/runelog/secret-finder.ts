import {
  type Decoding,
  decodingsOf,
  every_mark,
  type Joining,
  joinedDecodings,
  joiningsFor,
  lineEndForms,
  lineForms,
  most_layers,
} from './decoding.ts'
import { createMatcher } from './matcher.ts'
import { createNormalFilter, normalised, withoutLastCluster } from './normal-form.ts'

/** A secret needs this many characters: a shorter one occurs by chance in ids, numbers and words. */
export const shortest_secret = 8

/**
 * The texts to search in the decodings of a text, in lower case: the secret, its form without escapes, its lines with
 * other ends and joined, spaces as in a web form, and its bytes in hex and in base64 at any offset.
 */
function formsOf(secret: string): readonly string[] {
  const texts = [...decodingsOf(secret)].flatMap((decoding) => [decoding, normalised(decoding) ?? decoding])
  const forms = [
    ...texts.flatMap(({ text }) => lineForms(text)).flatMap((text) => [text, text.replaceAll(' ', '+')]),
    ...lineEndForms(secret).flatMap((text) => byteForms(new TextEncoder().encode(text))),
  ]
  return [...new Set(forms.map(inLowerCase))].filter(({ length }) => length >= shortest_secret)
}

/** With as many characters as before: only this one letter has two in lower case. */
const inLowerCase = (text: string) => text.replaceAll('\u0130', 'i').toLowerCase()

function normalFormsOf(secret: string): readonly string[] {
  const normals = [...decodingsOf(secret)].map((decoding) => normalised(decoding)?.text)
  return normals.filter((text) => text !== undefined).map(inLowerCase)
}

interface Sought {
  readonly joinings: readonly Joining[]
  isNormalSought(text: string): boolean
}

/** A decoding, also with its lines joined, and each of them in normal form where that may contain a secret. */
function* variantsOf(decoding: Decoding, { joinings, isNormalSought }: Sought): Generator<Decoding> {
  yield* withNormal(decoding, isNormalSought)
  for (const joined of joinedDecodings(decoding, joinings)) yield* withNormal(joined, isNormalSought)
}

function* withNormal(decoding: Decoding, isNormalSought: Sought['isNormalSought']): Generator<Decoding> {
  yield decoding
  const normal = isNormalSought(decoding.text) ? normalised(decoding) : undefined
  if (normal !== undefined) yield normal
}

/** Base64 turns three bytes into four characters, so there are three offsets. Shared bits are left out. */
function byteForms(bytes: Uint8Array): readonly string[] {
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  const base64 = [0, 1, 2].flatMap((before) => {
    const padded = new Uint8Array(before + bytes.length)
    padded.set(bytes, before)
    const whole = btoa(Array.from(padded, (byte) => String.fromCharCode(byte)).join(''))
    const text = whole.slice(Math.ceil((before * 8) / 6), Math.floor((padded.length * 8) / 6))
    return [text, text.replaceAll('+', '-').replaceAll('/', '_')]
  })
  return [hex, ...base64]
}

type Span = { readonly from: number; readonly to: number; readonly name: string }

interface Finder {
  find(text: string): string | undefined
  /** The spans of secrets, from left to right. Overlapping ones are one span, named after the longest of them. */
  spans(text: string): readonly Span[]
  safeLength(text: string): number
}

/** An incomplete secret begins at most this far from the end of a text. */
const longest_reach = 65_536

/** Escapes, line breaks and letters beyond ASCII: a text without them has one decoding. */
const mayReadOtherwise = /[\\%&\r\n\u0080-\uffff]/

/** Finds nothing, for a store without secrets. */
export const blind: Finder = { find: () => undefined, spans: () => [], safeLength: ({ length }) => length }

/** Looks for each form of a secret in each decoding of a text; an encoding of an encoding needs no rule of its own. */
export function createFinder(secrets: readonly (readonly [name: string, value: string])[]): Finder {
  const lengths = new Map(secrets.map(([name, { length }]) => [name, length]))
  const forms = secrets.flatMap(([name, value]) => formsOf(value).map((form) => ({ name, form })))
  const matcher = createMatcher(forms.map(({ form }) => form))
  const normalForms = secrets.flatMap(([, value]) => normalFormsOf(value))
  const hasNormalForms = normalForms.length > 0
  // Four layers of percent-encoding make 81 characters of one, and lines may be broken in between.
  const reach = Math.min(longest_reach, 1_024 + 96 * Math.max(...lengths.values()))
  const joinings = joiningsFor(forms.map(({ form }) => form))
  const sought = { joinings, isNormalSought: hasNormalForms ? createNormalFilter(normalForms) : () => false }
  const openSought = { joinings, isNormalSought: () => hasNormalForms }

  // A short secret that looks as if it had escapes may be too short without them, so each kind is also decoded by itself.
  const ownLayers = Math.max(...secrets.map(([, value]) => [...decodingsOf(value)].length - 1))
  const looksEscaped = ownLayers > 0
  const layers = most_layers + ownLayers
  const kinds = looksEscaped ? [every_mark, ...every_mark] : [every_mark]

  function* variants(text: string): Generator<Decoding> {
    const marksRead = new Set<string>()
    for (const decoding of decodingsOf(text, { layers })) {
      if (looksEscaped) for (const mark of every_mark) if (decoding.text.includes(mark)) marksRead.add(mark)
      yield* variantsOf(decoding, sought)
    }
    // One kind by itself reads as all of them do, if there is no other.
    if (marksRead.size < 2) return
    for (const marks of every_mark)
      for (const decoding of decodingsOf(text, { marks, layers })) yield* variantsOf(decoding, sought)
  }

  /** In an incomplete text, every letter may be the beginning of a secret. */
  function* openVariants(text: string): Generator<Decoding> {
    for (const marks of kinds)
      for (const decoding of decodingsOf(text, { isOpen: true, marks, layers })) {
        yield* variantsOf(decoding, openSought)
        if (hasNormalForms) yield* variantsOf(withoutLastCluster(decoding), openSought)
      }
  }

  function nameIn(text: string): string | undefined {
    const match = matcher.next(inLowerCase(text), 0)
    return match === undefined ? undefined : forms[match.pattern]?.name
  }

  function find(text: string): string | undefined {
    if (text.length < shortest_secret) return undefined
    const name = nameIn(text)
    // Ids and most short texts have one decoding only.
    if (name !== undefined || !mayReadOtherwise.test(text)) return name
    // Kinds of escapes by themselves often read as all of them together.
    const seen = new Set([text])
    for (const { text: read } of variants(text)) {
      if (seen.has(read)) continue
      seen.add(read)
      const found = nameIn(read)
      if (found !== undefined) return found
    }
    return undefined
  }

  function join(spans: Span[], span: Span) {
    let joined = span
    for (let last = spans.at(-1); last !== undefined && last.to > joined.from; last = spans.at(-1)) {
      spans.pop()
      const name = longerOf(last.name, joined.name)
      joined = { from: Math.min(last.from, joined.from), to: Math.max(last.to, joined.to), name }
    }
    spans.push(joined)
  }

  const longerOf = (a: string, b: string) => ((lengths.get(a) ?? 0) >= (lengths.get(b) ?? 0) ? a : b)

  /** The spans of one decoding, from left to right, so that millions of overlaps, as in "aaaa…", need no list. */
  function* spansOf(decoding: Decoding): Generator<Span> {
    const text = inLowerCase(decoding.text)
    let [begin, end, longest] = [0, 0, '']
    const span = () => ({ from: decoding.from(begin), to: decoding.to(end - 1), name: longest })
    for (let match = matcher.next(text, 0); match !== undefined; match = matcher.next(text, match.from + 1)) {
      const { from, to, pattern } = match
      const name = forms[pattern]?.name ?? ''
      if (from < end) {
        if (name !== longest) longest = longerOf(longest, name)
        if (to > end) end = to
        continue
      }
      if (end > 0) yield span()
      ;[begin, end, longest] = [from, to, name]
    }
    if (end > 0) yield span()
  }

  function spansIn(decodings: Iterable<Decoding>): readonly Span[] {
    const found: Span[] = []
    for (const decoding of decodings) for (const span of spansOf(decoding)) found.push(span)
    const spans: Span[] = []
    for (const span of found.sort((a, b) => a.to - b.to)) join(spans, span)
    return spans
  }

  return {
    find,
    spans: (text) => (find(text) === undefined ? [] : spansIn(variants(text))),
    safeLength(whole) {
      const start = tailStart(whole, reach, 2 ** layers)
      const text = whole.slice(start)
      const open = [...openVariants(text)]
      let cut = text.length
      for (const { text: read, from } of open)
        cut = Math.min(cut, from(read.length - matcher.begunAtEnd(inLowerCase(read))))
      // Neither a whole secret nor an escape is cut in two.
      const spans = spansIn(open)
      for (let before = -1; before !== cut; ) {
        before = cut
        for (const { from, to } of spans) if (from < cut && cut < to) cut = from
        for (const decoding of open) cut = startOfUnit(decoding, cut)
      }
      return start + cut
    },
  }
}

/** Where the last `reach` characters begin. Backslashes are never divided within a group of `unit`. */
function tailStart(text: string, reach: number, unit: number): number {
  const start = Math.max(0, text.length - reach)
  let run = start
  while (text[run - 1] === '\\') run -= 1
  return start - ((start - run) % unit)
}

/** The beginning of the escape that this place is inside of, or the place itself. */
function startOfUnit({ text, from, to }: Decoding, place: number): number {
  let low = 0
  let high = text.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (from(middle) < place) low = middle + 1
    else high = middle
  }
  return low > 0 && to(low - 1) > place ? from(low - 1) : place
}
