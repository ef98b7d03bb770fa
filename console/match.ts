/** `/s/:session_id/replay` against a path: the values of the names, or undefined. */
export function match(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split('/')
  const found = path.replace(/(.)\/$/, '$1').split('/')
  if (wanted.length !== found.length) return undefined
  const names: Record<string, string> = {}
  for (const [i, part] of wanted.entries()) {
    const given = found[i] ?? ''
    if (part.startsWith(':')) names[part.slice(1)] = decodeURIComponent(given)
    else if (part !== given) return undefined
  }
  return names
}
