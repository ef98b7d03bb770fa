import type { Stream } from 'node:stream'
import type { CallToolResult, Client, Tool as Listed } from '@modelcontextprotocol/client'
import { boundedJson, canonicalJson, type Json, jsonLimits } from '../../kernel/json.ts'
import { printableName } from '../../kernel/printable.ts'
import type { ToolContext } from '../../runtime/tools/tool.ts'
import { elicit } from './elicitation.ts'
import { failureOf, marked, messageOf } from './failure.ts'
import type { Sdk } from './sdk.ts'
import type { McpServer } from './server-config.ts'
import { boundedFetch, boundMessages, type Mark, watchLostAnswers } from './transport.ts'

/** Our timeout decides, by our clock; the timeout of the library must not fire first. */
const never_ms = 2 ** 31 - 1

/** A connection to one MCP server. */
export type Connection = ReturnType<typeof connectionTo>

interface Live {
  readonly client: Client
  calls: number
  isRetired: boolean
  tools: Promise<readonly Listed[]> | undefined
  /** Calls back when a call can get no answer. When a local server dies, the client itself fails the call. */
  onLost(mark: Mark, lost: () => void): void
}

type ConnectionPorts = { readonly sdk: Sdk; readonly warn: (message: string) => void; readonly version: string }

/** One server, connected on demand and again after it died. No call is sent twice. `warn` gets errors between calls. */
export function connectionTo(name: string, server: McpServer, { sdk, warn, version }: ConnectionPorts) {
  let current: Promise<Live> | undefined
  let isClosed = false
  let started: number | null = null
  const underWay = new Set<ToolContext>()

  function live(): Promise<Live> {
    if (isClosed) return Promise.reject(marked(`${name} is closed.`, 'unavailable'))
    const forget = () => {
      if (current === mine) current = undefined
    }
    const mine = current ?? connect(forget)
    current = mine
    mine.catch(forget)
    return mine
  }

  /** Sends nothing new through it; calls under way may still complete. */
  function retire(made: Live) {
    made.isRetired = true
    current = undefined
  }

  function closeIfIdle({ client, calls, isRetired }: Live) {
    if (isRetired && calls === 0) void client.close().catch((error) => warn(messageOf(error)))
  }

  async function connect(onClose: () => void): Promise<Live> {
    const client = new sdk.Client(
      { name: 'statewright', version },
      {
        capabilities: { elicitation: { form: {} } },
        // A local server is not probed for the newest revision: the probe would start it a second time.
        versionNegotiation: { mode: 'url' in server ? 'auto' : 'legacy' },
      },
    )
    const transport = transportTo(server, sdk)
    const complaints = readComplaints('stderr' in transport ? transport.stderr : null)
    const made: Live = { client, calls: 0, isRetired: false, tools: undefined, onLost: () => {} }
    client.onclose = onClose
    client.onerror = (error) => warn(messageOf(error))
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      made.tools = undefined
    })
    client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) => elicit(params, underWay, mcpReq.signal))
    try {
      await client.connect(transport, { timeout: server.connectTimeoutMs })
    } catch (error) {
      await client.close().catch(() => undefined)
      const complaint = complaints() === '' ? '' : `. It said: ${complaints()}`
      throw marked(`${name} could not be reached: ${messageOf(error)}${complaint}`, 'unavailable')
    }
    boundMessages(transport, warn)
    if (transport instanceof sdk.StreamableHTTPClientTransport) made.onLost = watchLostAnswers(transport)
    started = 'pid' in transport ? transport.pid : null
    return made
  }

  function toolsOf(made: Live): Promise<readonly Listed[]> {
    made.tools ??= made.client
      .listTools(undefined, { timeout: server.connectTimeoutMs, cacheMode: 'refresh' })
      .then(({ tools }) => bounded(tools))
    return made.tools.catch((error) => {
      made.tools = undefined
      throw marked(`${name} does not say which tools it has: ${messageOf(error)}`, 'unavailable')
    })
  }

  return {
    list: async () => toolsOf(await live()),
    /** Sends one call, once. It is refused unless the server still offers the tool exactly as it was listed. */
    async call(listed: Listed, args: Json, context: ToolContext): Promise<CallToolResult> {
      const made = await live()
      const now = (await toolsOf(made)).find((tool) => tool.name === listed.name)
      const tool = printableName(listed.name)
      const changed = `${name} changed its definition of ${tool}; it was not called. The new one counts after a restart.`
      if (now === undefined) throw marked(`${name} has no tool ${tool} any more.`, 'definition_changed')
      if (definitionOf(now) !== definitionOf(listed)) throw marked(changed, 'definition_changed')
      if (context.signal.aborted) throw marked(`It was called off before ${name} got it.`, 'not_begun')
      underWay.add(context)
      made.calls++
      const lost = Promise.withResolvers<never>()
      const mark = () => {}
      made.onLost(mark, () => lost.reject(new Error('its answer broke off')))
      try {
        const answer = made.client.callTool(
          { name: listed.name, arguments: args as Record<string, unknown> },
          {
            signal: context.signal,
            timeout: never_ms,
            onresumptiontoken: mark,
            onprogress: ({ progress, total, message }) =>
              context.progress(`${progress}${total === undefined ? '' : `/${total}`}${message ? ` ${message}` : ''}\n`),
            // Without its output schema: a completed action stays completed, also if its result does not match.
            toolDefinition: { name: listed.name, inputSchema: listed.inputSchema },
          },
        )
        return await Promise.race([answer, lost.promise])
      } catch (error) {
        // A cancelled caller gets a cancellation, unless the server had answered by then.
        if (context.signal.aborted && !(error instanceof sdk.ProtocolError)) throw context.signal.reason
        const failure = failureOf(error, name, sdk)
        // A session that the server has forgotten, or a server that is gone: the next call connects again.
        if ('url' in server && !(error instanceof sdk.ProtocolError)) retire(made)
        throw failure
      } finally {
        underWay.delete(context)
        made.calls--
        closeIfIdle(made)
      }
    },
    pid: () => started,
    async close() {
      isClosed = true
      const last = current
      current = undefined
      const made = await last?.catch(() => undefined)
      await made?.client.close()
    },
  }
}

function transportTo(server: McpServer, { StdioClientTransport, StreamableHTTPClientTransport }: Sdk) {
  if ('url' in server) {
    const requestInit = { headers: server.headers }
    return new StreamableHTTPClientTransport(new URL(server.url), { requestInit, fetch: boundedFetch })
  }
  const { command, args, env, cwd } = server
  return new StdioClientTransport({ command, args, env, stderr: 'pipe', ...(cwd !== undefined && { cwd }) })
}

/** The most tools of a server: each of them is sent to the model with every request. */
const mostTools = 500

/** Copies of the listed tools, each within `jsonLimits.schema`. */
function bounded(tools: readonly Listed[]): readonly Listed[] {
  if (tools.length > mostTools) throw new Error(`it lists ${tools.length} tools; at most ${mostTools} are allowed`)
  return tools.map((tool) => {
    // The library adds members that are undefined, which is not JSON.
    const given = Object.fromEntries(Object.entries(tool).filter(([, value]) => value !== undefined))
    const read = boundedJson(given, jsonLimits.schema)
    if ('problem' in read)
      throw new Error(`its tool ${JSON.stringify(tool.name.slice(0, 80))} is refused: ${read.problem}`)
    const copy: unknown = read.value
    return copy as Listed
  })
}

/** The definition that a person approves: description, arguments and annotations of a tool. */
function definitionOf({ name, description, inputSchema, annotations }: Listed): string {
  return canonicalJson(JSON.parse(JSON.stringify({ name, description, inputSchema, annotations })))
}

const most = 2_000

/** The end of what a server writes to stderr. It is always read: a server whose stderr is not read blocks. */
function readComplaints(stderr: Stream | null): () => string {
  let end = ''
  stderr?.on('data', (piece: Buffer) => {
    const all = `${end}${piece}`
    // Only whole lines are kept: half a secret would not be found.
    end = all.length <= most ? all : all.slice(all.indexOf('\n', all.length - most) + 1 || all.length)
  })
  return () => {
    const lines = end.split('\n').map((line) => line.trim())
    return lines.filter(Boolean).slice(-3).join(' ')
  }
}
