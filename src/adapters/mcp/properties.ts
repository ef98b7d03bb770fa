import type { Tool as Listed } from '@modelcontextprotocol/client'
import type { Tool } from '../../runtime/tools/tool.ts'
import type { McpServer } from './server-config.ts'

type Properties = Pick<Tool, 'irreversible' | 'idempotent' | 'read_only' | 'approval' | 'timeout_ms'>

/**
 * What holds for a tool of a server. Annotations are hints of a server that may
 * be hostile: they count only where the config trusts it, and only as far as
 * the config lets them. Without them a tool cannot be undone, cannot be
 * repeated and needs approval. What the config declares about a tool wins.
 */
export function propertiesOf(server: McpServer, { name, annotations = {} }: Listed): Properties {
  const believed = (hint: McpServer['relax'][number], says: boolean | undefined) =>
    server.trusted && server.relax.includes(hint) && says === true
  const declared = Object.hasOwn(server.tools, name) ? server.tools[name] : undefined

  const read_only = declared?.read_only ?? believed('read_only', annotations.readOnlyHint)
  const idempotent = read_only || (declared?.idempotent ?? believed('idempotent', annotations.idempotentHint))
  const isReversible = read_only || believed('reversible', annotations.destructiveHint === false)
  return {
    read_only,
    idempotent,
    irreversible: declared?.irreversible ?? !isReversible,
    approval: declared?.approval ?? server.approval ?? (server.trusted ? 'inherit' : 'always'),
    timeout_ms: declared?.timeout_ms ?? server.timeout_ms,
  }
}
