export interface Sources {
  /** Tests that may import what they like. */
  readonly inside: readonly string[]
  /** Tests that use only what the product shows to its users. */
  readonly outside: readonly string[]
}

export interface Coverage {
  /** Each requirement in the order of the table, with where it is played. */
  readonly rows: readonly { readonly id: string; readonly played: 'inside' | 'outside' | 'both' | 'nowhere' }[]
  /** Why the check fails, each with what to do about it; nothing means it passes. */
  readonly problems: readonly string[]
}

/** Compares the requirements with the scenarios that the test sources play. Each must be played from outside. */
export function coverage(requirements: string, sources: Sources): Coverage {
  const ids = [...requirements.matchAll(/^\| ([A-Z]{2}-\d{2}) \|/gm)].map((found) => found[1] as string)
  const inside = new Set(sources.inside.flatMap((source) => idsPlayed(source)))
  const outside = new Set(sources.outside.flatMap((source) => idsPlayed(source)))
  const played = (id: string) =>
    outside.has(id) ? (inside.has(id) ? 'both' : 'outside') : inside.has(id) ? 'inside' : 'nowhere'
  return {
    rows: ids.map((id) => ({ id, played: played(id) })),
    problems: [
      ...(ids.length === 0 ? ['There are no requirements; the table was not understood.'] : []),
      ...repeated(ids).map((id) => `${id} is listed twice among the requirements.`),
      ...[...new Set([...inside, ...outside])]
        .filter((id) => !ids.includes(id))
        .map((id) => `${id} is played, but there is no such requirement.`),
      ...ids
        .filter((id) => !outside.has(id))
        .map((id) => `${id} is not played from outside: write its scenario in test/outside.`),
    ],
  }
}

/** Only a call that begins its line counts, so that a comment or a string about a scenario does not. */
function idsPlayed(source: string): readonly string[] {
  return [...source.matchAll(/^[ \t]*scenario\(\s*['"`]([^'"`]*)['"`]/gm)].map((found) => found[1] as string)
}

function repeated(ids: readonly string[]): readonly string[] {
  return [...new Set(ids.filter((id, i) => ids.indexOf(id) !== i))]
}
