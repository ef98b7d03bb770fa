import { faults } from '../faults/catalogue.ts'
import type { Json } from '../kernel/json.ts'
import type { Limits } from './limits.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Reads a body that can be recorded: well-formed texts, finite numbers, no `__proto__`. An empty body means `{}`. */
export function readJson(body: Buffer, limits: Limits): Json {
  const text = decoded(body)
  if (text.trim() === '') return {}
  let value: Json
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw faults.json_refused({ problem: `it is not JSON (${(error as Error).message}).` })
  }
  const problem = problemWith(value, limits)
  if (problem !== undefined) throw faults.json_refused({ problem })
  return value
}

function decoded(body: Buffer): string {
  try {
    return utf8.decode(body)
  } catch {
    throw faults.json_refused({ problem: 'it is not UTF-8.' })
  }
}

/** Goes level by level and not by recursion, since the sender chooses the depth. */
function problemWith(value: Json, { jsonDepth, jsonKeys, jsonString }: Limits): string | undefined {
  let level: Json[] = [value]
  let keys = 0
  for (let depth = 0; level.length > 0; depth++) {
    const next: Json[] = []
    for (const item of level) {
      if (typeof item !== 'object' || item === null) {
        const problem = problemWithScalar(item, jsonString)
        if (problem !== undefined) return problem
        continue
      }
      if (depth >= jsonDepth) return `it is nested deeper than ${jsonDepth} levels.`
      for (const [name, one] of Object.entries(item)) {
        keys += 1
        if (name === '__proto__') return 'it has a field called __proto__.'
        if (!name.isWellFormed()) return 'it has a field whose name is not well-formed Unicode.'
        next.push(one)
      }
      if (keys > jsonKeys) return `it has more than ${jsonKeys} fields and items.`
    }
    level = next
  }
  return undefined
}

function problemWithScalar(value: Json, json_string: number): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'it has a number that is too large.'
  if (typeof value !== 'string') return undefined
  if (value.length > json_string) return `it has a text longer than ${json_string} characters.`
  return value.isWellFormed() ? undefined : 'it has a text that is not well-formed Unicode.'
}
