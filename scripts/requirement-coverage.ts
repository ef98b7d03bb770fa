export interface Coverage {
  readonly ids: readonly string[]
  readonly played: readonly string[]
  readonly unplayed: readonly string[]
  /** Why the check fails, each with what to do about it; nothing means it passes. */
  readonly problems: readonly string[]
}

/**
 * Compares the requirements with the scenarios that the test sources play.
 * `allowed` is the committed list of ids that nobody plays yet. It can only get
 * shorter: an id that is missing there must be played, and one that is played
 * must not be there.
 */
export function coverage(requirements: string, sources: readonly string[], allowed: readonly string[]): Coverage {
  const ids = [...requirements.matchAll(/^\| ([A-Z]{2}-\d{2}) \|/gm)].map((found) => found[1] as string)
  const found = new Set(sources.flatMap((source) => idsPlayed(source)))
  const played = ids.filter((id) => found.has(id))
  const unplayed = ids.filter((id) => !found.has(id))
  return {
    ids,
    played,
    unplayed,
    problems: [
      ...(ids.length === 0 ? ['There are no requirements; the table was not understood.'] : []),
      ...repeated(ids).map((id) => `${id} is listed twice among the requirements.`),
      ...[...found].filter((id) => !ids.includes(id)).map((id) => `${id} is played, but there is no such requirement.`),
      ...allowed
        .filter((id) => !ids.includes(id))
        .map((id) => `${id} is in spec/unplayed.json, but there is no such requirement.`),
      ...unplayed
        .filter((id) => !allowed.includes(id))
        .map((id) => `${id} is no longer played: bring its scenario back.`),
      ...played.filter((id) => allowed.includes(id)).map((id) => `${id} is played: remove it from spec/unplayed.json.`),
      ...repeated(allowed).map((id) => `${id} is in spec/unplayed.json twice.`),
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
