import type { Redactor } from '../runelog/redactor.ts'

/** Text that arrives in pieces, without its secrets. */
export interface CleanStream {
  /** What may be passed on now: never a part of a secret whose rest is still to come. */
  add(text: string): string
  /** What was held back. */
  end(): string
}

/** A store takes out secrets that it sees whole; one that is cut in two between records would pass it by. */
export function cleanStream({ longest, clean }: Pick<Redactor, 'longest' | 'clean'>): CleanStream {
  if (longest === 0) return { add: (text) => text, end: () => '' }
  let held = ''
  return {
    add(text) {
      held = clean(held + text).value as string
      const safe = held.slice(0, Math.max(0, held.length - longest + 1))
      held = held.slice(safe.length)
      return safe
    },
    end() {
      const rest = held
      held = ''
      return rest
    },
  }
}
