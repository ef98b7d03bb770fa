import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTick } from 'node:timers/promises'
import { anthropicWire } from './wire/anthropic.ts'
import { openaiChatWire } from './wire/openai-chat.ts'
import { openaiResponsesWire } from './wire/openai-responses.ts'
import type { Body, Refusal, Said, Wire } from './wire/wire.ts'

/** The server's handling of one request. */
export type Act =
  | { readonly said: Said; readonly breaks?: Break; readonly byteByByte?: boolean }
  | { readonly refusal: Refusal }
  /** The connection ends before there is a word of an answer. */
  | { readonly hangsUp: true }

/** The fault, and the number of events before it; by default all except the completing one. */
export interface Break {
  readonly how: 'ends' | 'drops' | 'resets' | 'stalls' | 'garbles' | { readonly code: string; readonly message: string }
  readonly after?: number
}

export interface Served {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Body
  /** The actual end of the request: this proves that a fault fired. */
  outcome: string
  /** Resolves when the other side is gone. */
  readonly gone: Promise<void>
}

const wires: readonly Wire[] = [anthropicWire, openaiChatWire, openaiResponsesWire]

/**
 * A server on the loopback interface that speaks the wire formats of Anthropic
 * and OpenAI. It is as strict as they are: a request that they would refuse is
 * refused. Each request gets the next act of the script; one more than there
 * are acts is a failure of the test.
 */
export async function startProviderServer(key: string) {
  const script: Act[] = []
  const served: Served[] = []

  const server = createServer((request, response) => {
    serve(request, response).catch((error) => response.destroy(error))
  })

  async function serve(request: IncomingMessage, response: ServerResponse) {
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += piece
    const gone = new Promise<void>((resolve) => response.once('close', resolve))
    const entry: Served = {
      path: request.url ?? '',
      headers: request.headers,
      body: JSON.parse(text),
      outcome: 'open',
      gone,
    }
    served.push(entry)
    const wire = wires.find(({ path }) => path === entry.path)
    const refuse = (refusal: Refusal, how: string) => {
      entry.outcome = how
      const body = refusal.page ?? JSON.stringify(wire?.refusalBody(refusal) ?? null)
      const type = refusal.page === undefined ? 'application/json' : 'text/html'
      response.writeHead(refusal.status, { 'content-type': type, ...refusal.headers }).end(body)
    }
    if (wire === undefined)
      return refuse({ status: 404, code: 'not_found_error', message: `no ${entry.path}` }, 'not found')
    if (!wire.hasKey(request.headers, key))
      return refuse({ status: 401, code: wire.badKeyCode, message: quoting(request) }, 'key refused')
    const message = wire.problem(entry.body)
    if (message !== undefined)
      return refuse({ status: 400, code: 'invalid_request_error', message }, `invalid: ${message}`)
    const act = script.shift()
    if (act === undefined)
      return refuse({ status: 400, code: 'invalid_request_error', message: 'no act left' }, 'no act left')
    if ('refusal' in act) return refuse(act.refusal, `refused ${act.refusal.status}`)
    if ('hangsUp' in act) {
      entry.outcome = 'hung up'
      return void response.socket?.destroy()
    }
    await play(wire, act, response, entry)
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    served,
    /** Adds acts to the script. */
    will: (...acts: readonly Act[]) => void script.push(...acts),
    /** Nothing was served, and nothing will be. */
    forget() {
      script.length = 0
      served.length = 0
    },
    actsLeft: () => script.length,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type ProviderServer = Awaited<ReturnType<typeof startProviderServer>>

async function play(wire: Wire, act: Extract<Act, { said: Said }>, response: ServerResponse, entry: Served) {
  const { frames, wholeAfter } = wire.frames(act.said)
  const { breaks, byteByByte = false } = act
  const sent = frames.slice(0, breaks === undefined ? frames.length : (breaks.after ?? wholeAfter - 1))
  response.socket?.setNoDelay(true)
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  response.flushHeaders()
  for (const frame of sent) await write(response, frame, byteByByte)
  if (breaks === undefined) {
    entry.outcome = 'answered'
    return void response.end()
  }
  entry.outcome = typeof breaks.how === 'string' ? breaks.how : `error ${breaks.how.code}`
  switch (breaks.how) {
    case 'ends':
      return void response.end()
    case 'drops':
      return void response.socket?.destroy()
    case 'resets':
      return void response.socket?.resetAndDestroy()
    case 'stalls':
      return entry.gone
    case 'garbles':
      await write(response, 'data: {"half": \n\n', false)
      return void response.end()
    default:
      await write(response, wire.errorFrame(breaks.how.code, breaks.how.message), false)
      return void response.end()
  }
}

async function write(response: ServerResponse, text: string, byteByByte: boolean) {
  const bytes = Buffer.from(text)
  if (!byteByByte) return void (await new Promise((resolve) => response.write(bytes, resolve)))
  for (const byte of bytes) {
    response.write(Buffer.of(byte))
    await nextTick()
  }
}

/** Providers quote what they refuse. */
function quoting({ headers }: IncomingMessage): string {
  return `Incorrect API key provided: ${headers.authorization ?? headers['x-api-key']}. You can find your API key in your settings.`
}
