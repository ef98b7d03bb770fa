import { connect, type Socket } from 'node:net'

/** One event of a stream as a browser would dispatch it, with the id that the block itself had. */
export interface Heard {
  readonly type: string
  readonly data: string
  readonly id: string | undefined
}

/** Text of a stream in any pieces, as events. Comments and blocks without data are no events, but may move the cursor. */
export function createSseParser(on: { event(heard: Heard): void; cursor?(id: string): void }) {
  let rest = ''
  return (text: string) => {
    rest += text
    for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
      const block = rest.slice(0, end)
      rest = rest.slice(end + 2)
      let type = 'message'
      let id: string | undefined
      const data: string[] = []
      for (const line of block.split('\n')) {
        if (line.startsWith('event: ')) type = line.slice(7)
        else if (line.startsWith('data: ')) data.push(line.slice(6))
        else if (line.startsWith('id: ')) id = line.slice(4)
      }
      if (data.length > 0) on.event({ type, data: data.join('\n'), id })
      if (id !== undefined) on.cursor?.(id)
    }
  }
}

export interface SseOptions {
  readonly port: number
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly onEvent: (heard: Heard) => void
  readonly onCursor?: (id: string) => void
  readonly onHead?: (status: number, head: string) => void
  readonly onClose?: () => void
  /** The part of the next piece of the body that is heard. */
  readonly pass?: (text: string) => string
}

/** Reads a stream on a bare socket: hundreds of these cost little, and one can be stalled or torn off at any byte. */
export function openSse({ port, path, headers = {}, ...on }: SseOptions): Socket {
  const socket = connect(port, '127.0.0.1')
  const lines = Object.entries({ Host: `127.0.0.1:${port}`, Accept: 'text/event-stream', ...headers })
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
  socket.setEncoding('utf8')
  const take = createSseParser({ event: on.onEvent, ...(on.onCursor === undefined ? {} : { cursor: on.onCursor }) })
  let head = ''
  let isBody = false
  socket.on('data', (text: string) => {
    if (isBody) return take(on.pass?.(text) ?? text)
    head += text
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return
    isBody = true
    on.onHead?.(Number(head.slice(9, 12)), head.slice(0, end))
    take(head.slice(end + 4))
  })
  // It is torn off or refused: the close that follows is reported.
  socket.on('error', () => {})
  socket.on('close', () => on.onClose?.())
  return socket
}
