import type { Json } from '../kernel/json.ts'
import type { Rune } from '../runes/rune.ts'

/** Replaces a text that readers may not see. */
export const notPublic = '(not public)'

/** Fields that stay in a rune that is not public: ids, counts, times and states, never content. */
const kept: ReadonlySet<string> = new Set([
  ...['agent', 'role', 'model', 'tools', 'mode', 'interactive_require_user_reply', 'budget', 'allowed_tools', 'worker'],
  ...['epoch', 'attempt', 'round', 'usage', 'finish', 'retryable', 'retry_in_ms', 'channel', 'offset', 'stream'],
  ...['error_code', 'error_type', 'error_kind', 'budget_of', 'budget_spent'],
  ...['status', 'duration_ms', 'expected', 'found'],
  ...['interaction_kind', 'deadline', 'on_silence', 'effect'],
  ...['action_type', 'irreversible', 'idempotency_key', 'key_scope', 'timeout_ms', 'tool_name', 'definition_sha256'],
])

/** Results and the like have no type of their own: they are removed completely. */
const contents: ReadonlySet<string> = new Set(['result', 'output', 'input', 'arguments', 'reply', 'digest'])

type Veiled = Pick<Rune, 'visibility' | 'kind' | 'payload'>

/** A rune as readers may see it, in every view: an internal one without content. Undefined: a secret one. */
export function visible<R extends Veiled>(rune: R): R | undefined {
  if (rune.visibility === 'public') return rune
  if (rune.visibility === 'secret') return undefined
  const payload = Object.fromEntries(
    Object.entries(rune.payload).map(([name, value]) => [name, isKept(rune.kind, name) ? value : blank(name, value)]),
  )
  return { ...rune, payload } as R
}

/** Fields that are an enumeration in this kind, and content in others. */
const keptIn: ReadonlySet<string> = new Set(['contract.moved reason', 'run.requested request'])

function isKept(kind: string, name: string): boolean {
  return kept.has(name) || /_ids?$/.test(name) || keptIn.has(`${kind} ${name}`)
}

function blank(name: string, value: Json | undefined): Json | undefined {
  if (contents.has(name) || value === null) return null
  if (Array.isArray(value)) return []
  return blanks[typeof value]
}

const blanks: Readonly<Record<string, Json>> = { string: notPublic, number: 0, boolean: false, object: {} }

/** Whether a rune may be shown. One of a contract follows its opening; a question follows the run that asks it. */
export function isShown(rune: Pick<Rune, 'visibility' | 'machine'>, opened?: Pick<Rune, 'visibility'>): boolean {
  if (rune.visibility !== 'public') return false
  return rune.machine === 'interaction' || opened === undefined || opened.visibility === 'public'
}
