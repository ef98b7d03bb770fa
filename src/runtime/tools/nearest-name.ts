import { editDistance } from '../../kernel/nearest.ts'

/**
 * The name that differs least from what was written, if it differs by at most a
 * third of its letters. Case and separators do not count: models like to write
 * `payments_refund` for `payments.refund`.
 */
export function nearestName(written: string, names: readonly string[]): string | undefined {
  // A name of this length is no slip, and comparing it would take long.
  if (written.length > 200) return undefined
  const wanted = plain(written)
  let nearest: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const name of names) {
    const candidate = plain(name)
    const distance = lastPartOf(name) === wanted ? 1 : editDistance(wanted, candidate)
    if (distance <= candidate.length / 3 && distance < least) {
      nearest = name
      least = distance
    }
  }
  return nearest
}

const plain = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')

const lastPartOf = (name: string) => plain(name.slice(name.lastIndexOf('.') + 1))
