import type { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import type { Sha256 } from '../../kernel/digest.ts'
import { canonicalJson } from '../../kernel/json.ts'
import { keyScopes } from '../../runes/kinds.ts'
import { askPersonName } from '../ecs/request.ts'
import { unknownField } from '../shape-problems.ts'
import { sayValue } from '../thrown.ts'
import { toldSchema } from './foreign-schema.ts'
import type { Tool } from './tool.ts'

type Optional = Exclude<keyof Tool, 'name' | 'input' | 'run'>

/** A tool needs a name, an input and a run function. The rest has defaults on the safe side. */
export type ToolDefinition<I extends z.ZodType> = Pick<Tool<I>, 'name' | 'input' | 'run'> &
  Partial<Pick<Tool<I>, Optional>>

/** The limits of a call whose tool names none. */
export const toolDefaults = { timeoutMs: 120_000, maxOutputBytes: 64_000 } as const

const toolName = /^[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*$/i

/**
 * Defines a tool: `name`, `input` and `run` are required. Returns the tool with its defaults, frozen. Throws
 * `bad_definition` if a field is unknown or does not fit; the message names the field and what is allowed.
 */
export function tool<I extends z.ZodType>(written: ToolDefinition<I>): Tool<I> {
  const definition = givenIn(written)
  const defined: Tool<I> = {
    ...toolDefaults,
    description: '',
    irreversible: false,
    readOnly: false,
    approval: 'inherit',
    endsTurn: false,
    parallel: definition.readOnly === true,
    keyScope: 'session',
    dedupe: true,
    onError: 'unknown',
    ...definition,
    idempotent: definition.readOnly === true || (definition.idempotent === undefined ? false : definition.idempotent),
  }
  const problem = problemWith(defined)
  if (problem === undefined) return Object.freeze(defined)
  const name: unknown = definition.name
  throw faults.bad_definition({ what: 'tool', name: typeof name === 'string' ? name : sayValue(name), problem })
}

/** The given fields. A definition that is no object has none: a text would be spread letter by letter. */
function givenIn<I extends z.ZodType>(written: ToolDefinition<I>): ToolDefinition<I> {
  const fields = Object.entries(typeof written === 'object' && written !== null ? written : {})
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as ToolDefinition<I>
}

const yesOrNo = [true, false]

/** The values that a field may have; an empty list means a function. A config is not type-checked. */
const choices: { readonly [F in keyof Tool]?: readonly unknown[] } = {
  irreversible: yesOrNo,
  idempotent: yesOrNo,
  readOnly: yesOrNo,
  approval: ['inherit', 'always', 'never'],
  endsTurn: yesOrNo,
  parallel: yesOrNo,
  keyScope: keyScopes,
  dedupe: yesOrNo,
  onError: ['unknown', 'failed'],
  key: [],
  probe: [],
}

const others = ['name', 'description', 'input', 'inputSchema', 'version', 'timeoutMs', 'maxOutputBytes', 'run']
const fields = [...others, ...Object.keys(choices)]

function misspelled(tool: Tool): string | undefined {
  const unknown = Object.keys(tool).find((field) => !fields.includes(field))
  if (unknown !== undefined) return unknownField(unknown, fields)
  for (const [field, allowed] of Object.entries(choices)) {
    const value = tool[field as keyof Tool] as unknown
    const fits = allowed.length === 0 ? value === undefined || typeof value === 'function' : allowed.includes(value)
    if (!fits) return `Unknown value ${sayValue(value)} for ${field}. Allowed: ${allowed.join(', ') || 'a function'}.`
  }
  return undefined
}

function problemWith(tool: Tool): string | undefined {
  if (typeof tool.name !== 'string' || !toolName.test(tool.name))
    return 'A name is letters, digits, underscores and hyphens, begins with a letter, and may have parts joined by dots, as in "payments.refund".'
  if (tool.name === askPersonName) return 'The runtime has a tool of this name; choose another.'
  for (const field of ['description', 'version'] as const) {
    const text: unknown = tool[field]
    if (text === undefined) continue
    if (typeof text !== 'string') return `${field} is ${sayValue(text)}; it must be a text.`
    if (!text.isWellFormed()) return `${field} has a lone surrogate, which is half a character; write it without.`
  }
  if (typeof tool.run !== 'function') return 'It has no run function.'
  const mistake = misspelled(tool)
  if (mistake !== undefined) return mistake
  if (tool.irreversible && tool.readOnly) return 'A read-only tool changes nothing. Remove irreversible or readOnly.'
  if (!isCount(tool.timeoutMs) || tool.timeoutMs < 1)
    return `timeoutMs is ${sayValue(tool.timeoutMs)}; it must be a whole number of milliseconds, at least 1.`
  // Below this limit, the note about a cut would not fit.
  if (!isCount(tool.maxOutputBytes) || tool.maxOutputBytes < 256)
    return `maxOutputBytes is ${sayValue(tool.maxOutputBytes)}; it must be a whole number, at least 256.`
  const described = toldSchema(tool)
  return 'problem' in described ? described.problem : undefined
}

const isCount = (value: unknown) => Number.isSafeInteger(value)

/** Names what a tool promised when it was approved. The code of `run` is not part of it. */
export function definitionDigest(tool: Tool, sha256: Sha256): string {
  const { name, description, irreversible, idempotent, approval, parallel } = tool
  const described = toldSchema(tool)
  // Digests are recorded, so their fields are spelled as in records.
  return sha256(
    canonicalJson({
      name,
      description,
      input_schema: 'schema' in described ? described.schema : null,
      irreversible,
      idempotent,
      read_only: tool.readOnly,
      approval,
      timeout_ms: tool.timeoutMs,
      parallel,
      max_output_bytes: tool.maxOutputBytes,
      key_scope: tool.keyScope,
      dedupe: tool.dedupe,
      on_error: tool.onError,
      ...(tool.endsTurn && { ends_turn: true }),
      version: tool.version ?? null,
      has_key: tool.key !== undefined,
      has_probe: tool.probe !== undefined,
    }),
  )
}
