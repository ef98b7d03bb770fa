import type { Redactor } from '../runelog/redactor.ts'

/** Text that arrives in pieces, without its secrets. */
export interface CleanStream {
  /** What may be passed on now: never a part of a secret whose rest is still to come. */
  add(text: string): string
  /** What was held back. */
  end(): string
}

type Parts = Pick<Redactor, 'settledLength' | 'find' | 'clean'>

/**
 * A store takes out secrets that it sees whole; one that is cut in two between
 * records would pass it by. Only what may be the beginning of one is held back,
 * so that whoever reads along is not kept waiting for the length of a secret.
 */
export function cleanStream({ settledLength, find, clean }: Parts): CleanStream {
  let held = ''
  const pass = (length: number) => {
    const passed = held.slice(0, length)
    held = held.slice(length)
    if (find(passed) === undefined) return passed
    // Half a character is no text; what has secrets in it is cleaned as one.
    return clean(passed.toWellFormed()).value as string
  }
  return {
    add(text) {
      held += text
      return pass(settledLength(held))
    },
    end: () => pass(held.length),
  }
}
