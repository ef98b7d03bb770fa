/** What Anthropic and OpenAI accept as the name of a tool. `mail.send` is none: it has a dot. */
const longest = 64
const unfit = /[^a-zA-Z0-9_-]/g

export interface WireNames {
  /** The name under which providers know this tool. */
  toWire(name: string): string
  /** The tool that a model means. A name that we never told it stays as it is. */
  fromWire(name: string): string
}

/**
 * Names that every provider accepts, one for each tool. They follow from the list alone, so that a dialogue reads the
 * same at each request. A name that fits is kept; of those that are changed, the first gets the plain form.
 */
export function wireNames(names: readonly string[]): WireNames {
  const isFit = (name: string) => name !== '' && name.length <= longest && name.replace(unfit, '_') === name
  const wires = new Map<string, string>()
  const taken = new Map<string, string>()
  const give = (name: string, wire: string) => {
    wires.set(name, wire)
    taken.set(wire, name)
  }
  for (const name of names) if (isFit(name)) give(name, name)
  for (const name of names) if (!wires.has(name)) give(name, free(name, taken))

  return {
    toWire: (name) => wires.get(name) ?? plain(name),
    fromWire: (wire) => taken.get(wire) ?? wire,
  }
}

function free(name: string, taken: ReadonlyMap<string, string>): string {
  const wanted = plain(name)
  for (let count = 1; ; count++) {
    const suffix = count === 1 ? '' : `_${count}`
    const wire = wanted.slice(0, longest - suffix.length) + suffix
    if (!taken.has(wire)) return wire
  }
}

const plain = (name: string) => name.replace(unfit, '_').slice(0, longest) || 'tool'
