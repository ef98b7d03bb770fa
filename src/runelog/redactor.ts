import { faults } from '../faults/catalogue.ts'
import { canonicalJson, type Json } from '../kernel/json.ts'
import { piecesOf } from '../kernel/printable.ts'
import { blind, createFinder, shortest_secret } from './secret-finder.ts'
import { othersTurn } from './slices.ts'

/** Takes registered secrets out of a value. If it throws, the write that needed it fails. */
export interface Redactor {
  /** The canonical text of the value without its secrets, and the value itself. */
  clean(value: Json): Cleaned
  /** The same for a value that may have millions of characters: it yields to other work. */
  cleanLong(value: Json): Promise<Cleaned>
  /** How much of an incomplete text may be cleaned and passed on: up to a possible beginning of a secret. */
  safeLength(text: string): number
  /** The name of a secret that this text contains. */
  find(text: string): string | undefined
  /** One text without its secrets. A cut text (`isCut`) also loses a possible beginning of a secret at its end. */
  redact(text: string, isCut?: boolean): string
  redactLong(text: string, isCut?: boolean): Promise<string>
}

type Cleaned = { readonly value: Json; readonly text: string }

interface Secrets {
  /** By name; the name replaces the value in texts. */
  readonly secrets?: ReadonlyMap<string, string>
}

/** How many characters are cleaned in one turn of the event loop. A longer text is cleaned in pieces. */
const slice = 65_536
/** How many characters of texts that are known to be clean are kept. */
const most_known = 8_000_000

/** Replaces secrets in strings, keys and numbers, in each usual encoding. A secret that is too short is refused. */
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
    const stream = cleanStream({ safeLength: finder.safeLength, redact: redactText })
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

  const whole = (text: string, isCut: boolean) => (isCut ? text.slice(0, finder.safeLength(text)) : text)

  async function inTurns(value: Json): Promise<Json> {
    const steps = cleaning(value)
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) await othersTurn()
    return step.value
  }

  return {
    safeLength: finder.safeLength,
    find,
    redact: (text, isCut = false) => redactText(whole(text, isCut)),
    async redactLong(text, isCut = false) {
      const given = whole(text, isCut).toWellFormed()
      return finder === blind ? given : ((await inTurns(given)) as string)
    },
    async cleanLong(value) {
      const text = canonicalJson(value)
      if (finder === blind) return { value, text }
      if (text.length > slice) await othersTurn()
      const cleaned = await inTurns(value)
      return { value: cleaned, text: canonicalJson(cleaned) }
    },
    clean(value) {
      // First, since it refuses a value that contains itself.
      const text = canonicalJson(value)
      if (finder === blind || !isSuspect(value)) return { value, text }
      const steps = cleaning(value)
      let step = steps.next()
      while (step.done !== true) step = steps.next()
      return { value: step.value, text: canonicalJson(step.value) }
    },
  }
}

/** Cleans one text that arrives in pieces. */
export interface CleanStream {
  /** Returns the text that may be passed on now. A possible beginning of a secret is held back. */
  add(text: string): string
  end(): string
}

/** Cleans text that arrives in pieces. It holds back only a possible beginning of a secret. */
export function cleanStream({ safeLength, redact }: Pick<Redactor, 'safeLength' | 'redact'>): CleanStream {
  let held = ''
  const pass = (length: number) => {
    const passed = held.slice(0, length)
    held = held.slice(length)
    return redact(passed)
  }
  return {
    add(text) {
      held += text
      return pass(safeLength(held))
    },
    end: () => pass(held.length),
  }
}

/** Long texts that are known to be clean: they are recorded soon, and a second search would block the event loop. */
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
  const problem = `secrets.${name} has ${value.length} characters; a secret needs at least ${shortest_secret}, since a shorter one occurs by chance in ids and numbers. Use a longer secret, or leave it out.`
  throw faults.bad_definition({ what: 'config', name: 'statewright', problem })
}
