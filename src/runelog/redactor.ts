import { faults } from '../faults/catalogue.ts'
import { canonicalJson } from '../kernel/canonical-json.ts'
import type { Json } from '../kernel/json.ts'
import { piecesOf } from '../kernel/printable.ts'
import { cleanStream } from './clean-stream.ts'
import { createMatcher } from './matcher.ts'
import { createNormalFilter, withoutLastCluster } from './normal-form.ts'
import { every_mark, joiningsFor, most_layers, type Reading, readingsOf } from './reading.ts'
import { formsOf, inLowerCase, normalFormsOf, shortest_secret, variantsOf } from './secret-forms.ts'
import { othersTurn } from './slices.ts'

/** Takes registered secrets out of a value. If it throws, the write that needed it fails. */
export interface Redactor {
  /** The canonical text of the value without its secrets, and the value itself. */
  clean(value: Json): Cleaned
  /** The same for a value that may have millions of characters: others get their turns of the event loop meanwhile. */
  cleanLong(value: Json): Promise<Cleaned>
  /** How much of a text may be cleaned and passed on while more of it is to come: up to what may be the beginning of a secret. */
  settledLength(text: string): number
  /** The name of a secret that this text contains. */
  find(text: string): string | undefined
  /** One text without its secrets. A text that is cut (`isCut`) loses what may be the beginning of one at its end, too. */
  redact(text: string, isCut?: boolean): string
  /** The same for a text that may have millions of characters. No canonical text is made of it. */
  redactLong(text: string, isCut?: boolean): Promise<string>
}

interface Cleaned {
  readonly value: Json
  readonly text: string
}

interface Secrets {
  /** By name; the name is what will be read in place of the value. */
  readonly secrets?: ReadonlyMap<string, string>
}

/** So many characters are cleaned in one turn of the event loop. A text that is longer is cleaned in pieces. */
const slice = 65_536

/** How many characters the texts may have together that are known to be clean. */
const most_known = 8_000_000

/**
 * A secret is replaced wherever it occurs: as a string, inside a longer one, as a key, as the digits of a number, and
 * in each of its usual encodings. One that is too short is refused, since it would be found in texts that have nothing
 * to do with it.
 */
export function createRedactor({ secrets = new Map() }: Secrets): Redactor {
  for (const [name, value] of secrets) refuseShort(name, value)
  const finder = secrets.size === 0 ? blind : createFinder([...secrets])
  const known = createKnown()
  const find = (text: string) => (known.has(text) ? undefined : finder.find(text))

  function redactText(text: string): string {
    if (known.has(text)) return text
    let out = ''
    let done = 0
    for (const { from, to, name } of finder.spans(text)) {
      out += `${text.slice(done, from)}[secret:${name}]`
      done = to
    }
    return done === 0 ? text : out + text.slice(done)
  }

  function isSuspect(value: Json): boolean {
    if (typeof value === 'string') return find(value) !== undefined
    if (typeof value === 'number') return find(String(value)) !== undefined
    if (value === null || typeof value === 'boolean') return false
    if (Array.isArray(value)) return value.some(isSuspect)
    return Object.entries(value).some(([key, member]) => find(key) !== undefined || isSuspect(member))
  }

  /** The value without its secrets. Pauses after every slice of its characters. */
  function* cleaning(value: Json): Generator<undefined, Json> {
    let read = 0
    function* cleanText(text: string): Generator<undefined, string> {
      if (text.length > slice && !known.has(text)) return yield* cleanPieces(text)
      read += text.length
      if (read > slice) {
        read = 0
        yield
      }
      return redactText(text)
    }
    function* walk(value: Json): Generator<undefined, Json> {
      if (typeof value === 'string') return yield* cleanText(value)
      if (typeof value === 'number') {
        const text = redactText(String(value))
        return text === String(value) ? value : text
      }
      if (value === null || typeof value === 'boolean') return value
      if (Array.isArray(value)) {
        const items: Json[] = []
        for (const item of value) items.push(yield* walk(item))
        return items
      }
      const members: [string, Json][] = []
      for (const [key, member] of Object.entries(value)) members.push([yield* cleanText(key), yield* walk(member)])
      return Object.fromEntries(members)
    }
    return yield* walk(value)
  }

  function* cleanPieces(text: string): Generator<undefined, string> {
    const stream = cleanStream({ settledLength: finder.settledLength, redact: redactText })
    const pieces: string[] = []
    for (const piece of piecesOf(text, slice)) {
      pieces.push(stream.add(piece))
      yield
    }
    pieces.push(stream.end())
    const cleaned = pieces.join('')
    known.add(cleaned)
    return cleaned
  }

  const settled = (text: string, isCut: boolean) => (isCut ? text.slice(0, finder.settledLength(text)) : text)

  async function inTurns(value: Json): Promise<Json> {
    const steps = cleaning(value)
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) await othersTurn()
    return step.value
  }

  async function cleanLong(value: Json): Promise<Cleaned> {
    const text = canonicalJson(value)
    if (finder === blind) return { value, text }
    if (text.length > slice) await othersTurn()
    const cleaned = await inTurns(value)
    return { value: cleaned, text: canonicalJson(cleaned) }
  }

  async function redactLong(text: string, isCut = false): Promise<string> {
    const whole = settled(text, isCut).toWellFormed()
    return finder === blind ? whole : ((await inTurns(whole)) as string)
  }

  return {
    settledLength: finder.settledLength,
    find,
    redact: (text, isCut = false) => redactText(settled(text, isCut)),
    redactLong,
    cleanLong,
    clean(value) {
      // First, since it refuses what is no JSON: a value that contains itself has no end.
      const text = canonicalJson(value)
      if (!isSuspect(value)) return { value, text }
      const steps = cleaning(value)
      let step = steps.next()
      while (step.done !== true) step = steps.next()
      return { value: step.value, text: canonicalJson(step.value) }
    },
  }
}

/**
 * Long texts that came out clean. They are recorded soon after that, and
 * reading them once more would hold the event loop.
 */
function createKnown() {
  const texts = new Set<string>()
  let characters = 0
  return {
    has: (text: string) => text.length > slice && texts.has(text),
    add(text: string) {
      if (text.length <= slice || texts.has(text)) return
      texts.add(text)
      characters += text.length
      for (const oldest of texts) {
        if (characters <= most_known) break
        texts.delete(oldest)
        characters -= oldest.length
      }
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

interface Span {
  readonly from: number
  readonly to: number
  readonly name: string
}

interface Finder {
  find(text: string): string | undefined
  /** Where secrets stand, from left to right. Those that overlap are one span, named after the longest of them. */
  spans(text: string): readonly Span[]
  settledLength(text: string): number
}

/** What a text has whose readings differ: escapes, lines, letters that are not ASCII. */
const mayReadOtherwise = /[\\%&\r\n\u0080-\uffff]/

/** Finds nothing, for a store without secrets. */
const blind: Finder = { find: () => undefined, spans: () => [], settledLength: ({ length }) => length }

/**
 * Looks for each form of a secret (`formsOf`) in each reading of a text (`readingsOf`). An encoding of another one,
 * such as percent-encoded JSON, needs no rule of its own.
 */
function createFinder(secrets: readonly (readonly [name: string, value: string])[]): Finder {
  const lengths = new Map(secrets.map(([name, { length }]) => [name, length]))
  const forms = secrets.flatMap(([name, value]) => formsOf(value).map((form) => ({ name, form })))
  const matcher = createMatcher(forms.map(({ form }) => form))
  const normalForms = secrets.flatMap(([, value]) => normalFormsOf(value))
  const hasNormalForms = normalForms.length > 0
  // Four layers of percent-encoding make 81 characters of one, and lines may be broken in between.
  const reach = Math.min(slice, 1_024 + 96 * Math.max(...lengths.values()))
  const joinings = joiningsFor(forms.map(({ form }) => form))
  const sought = { joinings, isNormalSought: hasNormalForms ? createNormalFilter(normalForms) : () => false }
  const openSought = { joinings, isNormalSought: () => hasNormalForms }

  // A short secret that looks as if it had escapes may be too short without them, so each kind is also decoded by itself.
  const ownLayers = Math.max(...secrets.map(([, value]) => [...readingsOf(value)].length - 1))
  const looksEscaped = ownLayers > 0
  const layers = most_layers + ownLayers
  const kinds = looksEscaped ? [every_mark, ...every_mark] : [every_mark]

  function* variants(text: string): Generator<Reading> {
    const marksRead = new Set<string>()
    for (const reading of readingsOf(text, { layers })) {
      if (looksEscaped) for (const mark of every_mark) if (reading.text.includes(mark)) marksRead.add(mark)
      yield* variantsOf(reading, sought)
    }
    // One kind by itself reads as all of them do, if there is no other.
    if (marksRead.size < 2) return
    for (const marks of every_mark)
      for (const reading of readingsOf(text, { marks, layers })) yield* variantsOf(reading, sought)
  }

  /** Of a text that is still to go on, every letter may be the beginning of a secret. */
  function* openVariants(text: string): Generator<Reading> {
    for (const marks of kinds)
      for (const reading of readingsOf(text, { isOpen: true, marks, layers })) {
        yield* variantsOf(reading, openSought)
        if (hasNormalForms) yield* variantsOf(withoutLastCluster(reading), openSought)
      }
  }

  function nameIn(text: string): string | undefined {
    const match = matcher.next(inLowerCase(text), 0)
    return match === undefined ? undefined : forms[match.pattern]?.name
  }

  function find(text: string): string | undefined {
    if (text.length < shortest_secret) return undefined
    const name = nameIn(text)
    // Ids and most short texts have one reading only.
    if (name !== undefined || !mayReadOtherwise.test(text)) return name
    // Kinds of escapes by themselves often read as all of them together.
    const seen: string[] = [text]
    for (const { text: read } of variants(text)) {
      if (seen.includes(read)) continue
      seen.push(read)
      const name = nameIn(read)
      if (name !== undefined) return name
    }
    return undefined
  }

  /** Takes in a span that ends after those before it. */
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

  /** Those of one reading. They come from left to right, so that millions that overlap, as in "aaaa…", need no list. */
  function* spansOf(reading: Reading): Generator<Span> {
    const text = inLowerCase(reading.text)
    const span = (from: number, to: number, name: string) => ({
      from: reading.from(from),
      to: reading.to(to - 1),
      name,
    })
    let begin = 0
    let end = 0
    let longest = ''
    for (let match = matcher.next(text, 0); match !== undefined; match = matcher.next(text, match.from + 1)) {
      const { from, to, pattern } = match
      const name = forms[pattern]?.name ?? ''
      if (from < end) {
        if (name !== longest) longest = longerOf(longest, name)
        if (to > end) end = to
        continue
      }
      if (end > 0) yield span(begin, end, longest)
      begin = from
      end = to
      longest = name
    }
    if (end > 0) yield span(begin, end, longest)
  }

  function spansIn(readings: Iterable<Reading>): readonly Span[] {
    const found: Span[] = []
    for (const reading of readings) for (const span of spansOf(reading)) found.push(span)
    const spans: Span[] = []
    for (const span of found.sort((a, b) => a.to - b.to)) join(spans, span)
    return spans
  }

  return {
    find,
    spans: (text) => (find(text) === undefined ? [] : spansIn(variants(text))),
    settledLength(whole) {
      // What stands far from the end is the beginning of no secret, and would be read in vain.
      const start = tailStart(whole, reach, 2 ** layers)
      const text = whole.slice(start)
      const open = [...openVariants(text)]
      let cut = text.length
      for (const { text: read, from } of open)
        cut = Math.min(cut, from(read.length - matcher.begunAtEnd(inLowerCase(read))))
      // Neither a secret that is there as a whole nor an escape is cut in two.
      const spans = spansIn(open)
      for (let before = -1; before !== cut; ) {
        before = cut
        for (const { from, to } of spans) if (from < cut && cut < to) cut = from
        for (const reading of open) cut = startOfUnit(reading, cut)
      }
      return start + cut
    },
  }
}

/** Where the last `reach` characters begin, but not in the middle of backslashes of which one layer of escapes in all others has `unit`. */
function tailStart(text: string, reach: number, unit: number): number {
  const start = Math.max(0, text.length - reach)
  let run = start
  while (text[run - 1] === '\\') run -= 1
  return start - ((start - run) % unit)
}

/** The beginning of the escape that this place is inside of, or the place itself. */
function startOfUnit({ text, from, to }: Reading, place: number): number {
  let low = 0
  let high = text.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (from(middle) < place) low = middle + 1
    else high = middle
  }
  return low > 0 && to(low - 1) > place ? from(low - 1) : place
}
