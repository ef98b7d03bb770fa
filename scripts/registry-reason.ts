/** Codes with which npm says that it did not reach the registry, or has no copy of a package while it is offline. */
const unreachable =
  /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|E?TIMEDOUT|ENOTCACHED|E50[234])\b/

/**
 * Why npm could not reach the registry, as one line of its output. Undefined for any other failure: a package that
 * cannot be installed is a problem of the package.
 */
export function registryReason(output: string): string | undefined {
  const lines = output.split('\n').map((line) => line.replace(/^npm (?:error|ERR!) ?/, '').trim())
  const coded = lines.find((line) => unreachable.test(line))
  return coded?.slice(0, 200)
}
