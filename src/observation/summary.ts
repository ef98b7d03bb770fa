import { canonicalJson } from '../kernel/canonical-json.ts'
import type { Json } from '../kernel/json.ts'

const limit = 200

/** A value as text: a string as it is, anything else as canonical JSON, so that it is the same before and after it was recorded. */
export function asText(value: Json): string {
  return typeof value === 'string' ? value : canonicalJson(value)
}

/** The first 200 characters. It never ends in half a character, which canonical JSON would refuse. */
export function summary(value: Json): string {
  const text = asText(value)
  if (text.length <= limit) return text
  const last = text.charCodeAt(limit - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit)
}
