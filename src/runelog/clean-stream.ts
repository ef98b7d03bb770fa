/** Text that arrives in pieces, without its secrets. */
interface CleanStream {
  /** What may be passed on now: never a part of a secret whose rest is still to come. */
  add(text: string): string
  /** What was held back. */
  end(): string
}

/** What is needed of a redactor. */
interface Parts {
  settledLength(text: string): number
  redact(text: string): string
}

/**
 * A store takes out secrets that it sees whole; one that is cut in two between records would pass it by. Only what may
 * be the beginning of one is held back, so that a reader of the stream does not wait for the length of a secret.
 */
export function cleanStream({ settledLength, redact }: Parts): CleanStream {
  let held = ''
  const pass = (length: number) => {
    const passed = held.slice(0, length)
    held = held.slice(length)
    return redact(passed)
  }
  return {
    add(text) {
      held += text
      return pass(settledLength(held))
    },
    end: () => pass(held.length),
  }
}
