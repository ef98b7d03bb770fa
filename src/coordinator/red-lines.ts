import type { Json } from '../kernel/json.ts'
import { isRecord } from './checksum.ts'
import type { Problem } from './schemas/problem.ts'

/** Field names under which something to execute travels. Prose may say what it likes. */
const payloadKeys: ReadonlySet<string> = new Set([
  'execute',
  'run',
  'shell',
  'bash',
  'python',
  'powershell',
  'subprocess',
  'command_line',
  'script',
])

/** Red line 1. Every place in a JSON value where a payload key stands, at any depth. */
export function executionPayloads(value: Json, path = ''): Problem[] {
  if (Array.isArray(value)) return value.flatMap((item, i) => executionPayloads(item, `${path}[${i}]`))
  if (!isRecord(value)) return []
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, member]) => {
      const here = path === '' ? key : `${path}.${key}`
      const found = payloadKeys.has(key.toLowerCase().replaceAll('-', '_'))
        ? [{ code: 'execution_payload', message: `The key "${key}" carries something to execute.`, path: here }]
        : []
      return [...found, ...executionPayloads(member, here)]
    })
}
