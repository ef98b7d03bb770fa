import { canonicalJson } from '../../kernel/canonical-json.ts'
import type { Sha256 } from '../../kernel/digest.ts'
import type { Json } from '../../kernel/json.ts'
import type { Tool } from './tool.ts'

/** `payments.refund` is the method `refund` of the service `payments`; a name without a dot has no service. */
export function actionOf(name: string): { service: string; method: string } {
  const dot = name.lastIndexOf('.')
  return { service: dot < 0 ? '' : name.slice(0, dot), method: name.slice(dot + 1) }
}

/**
 * Names the action, whoever attempts it and however often. The name of the tool
 * is part of it even when the tool has a key function: two tools may well both
 * take the order number for their key.
 */
export function idempotencyKey(tool: Pick<Tool, 'name' | 'key'>, args: Json, sha256: Sha256): string {
  const action = actionOf(tool.name)
  return sha256(canonicalJson(tool.key === undefined ? { ...action, args } : { ...action, key: tool.key(args) }))
}

/** The key of "do it again": a person wants the same action once more. The salt names that decision. */
export function saltedKey(key: string, salt: string, sha256: Sha256): string {
  return sha256(canonicalJson({ key, salt }))
}
