/**
 * Providers quote keys in what they say when they refuse one, and proxies quote whole headers. What looks like a key
 * never reaches a record. Secrets that do not look like one are taken out by name: see `secrets` in the config.
 */
const keys: readonly RegExp[] = [
  /\b(Bearer|Basic)\s+[^\s"',;]+/gi,
  /\b(x-api-key|api[-_ ]?key|authorization|access[-_]token|token|secret|password)(["']?\s*[:=]\s*["']?)(?!\[)[^\s"',;&]+/gi,
  /\b(sk|pk|rk|gsk|xai|hf|key|AIza|AKIA|ghp|glpat)[-_]?[A-Za-z0-9*][\w*.-]{7,}/g,
  /\b(?!req_|msg_|resp_|chatcmpl-)(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}/g,
]

/** Some of the patterns look ahead from every word, so what they look through is bounded. No view shows more than this. */
export const longestSearched = 8_000

export function withoutKeys(text: string): string {
  return keys.reduce((left, key) => left.replace(key, '[key]'), text.slice(0, longestSearched))
}
