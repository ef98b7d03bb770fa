import { connect, type Socket } from 'node:net'

/** A request as it is put on the wire. Nothing in it is encoded, normalised or completed. */
export interface RawRequest {
  readonly method: string
  /** The request target, byte for byte (latin1). */
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body?: string
}

export interface RawAnswer {
  /** 0 where the server closed the connection without an answer. */
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  /** Of an event stream, nothing: the connection is closed after the head. */
  readonly body: string
}

const silence: RawAnswer = { status: 0, headers: new Map(), body: '' }

/** Sends requests to one server, one at a time on one connection, and opens a new one when the server closed it. */
export function createRawClient(port: number) {
  let socket: Socket | undefined

  function exchange(line: Socket, bytes: Buffer, method: string): Promise<RawAnswer | 'closed'> {
    return new Promise((resolve, reject) => {
      let got = Buffer.alloc(0)
      const late = setTimeout(() => reject(new Error(`No answer within 20 s to ${bytes.toString('latin1')}`)), 20_000)
      function over(answer: RawAnswer | 'closed') {
        clearTimeout(late)
        line.off('data', take).off('close', closed)
        resolve(answer)
      }
      function take(piece: Buffer) {
        got = Buffer.concat([got, piece])
        const answer = readAnswer(got, method, false)
        if (answer === undefined) return
        if (answer.headers.get('content-type')?.startsWith('text/event-stream') || isLast(answer)) line.destroy()
        over(answer)
      }
      function closed() {
        over(readAnswer(got, method, true) ?? (got.length === 0 ? 'closed' : silence))
      }
      line.on('data', take).on('close', closed)
      line.write(bytes)
    })
  }

  function line(): Socket {
    if (socket === undefined || socket.destroyed || !socket.writable) {
      socket = connect(port, '127.0.0.1')
      socket.setNoDelay(true)
      // A connection that breaks is told by `close`.
      socket.on('error', () => {})
    }
    return socket
  }

  return {
    async send({ method, target, headers, body = '' }: RawRequest): Promise<RawAnswer> {
      const head = [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`)]
      const bytes = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1')
      const isFresh = socket === undefined || socket.destroyed
      const answer = await exchange(line(), bytes, method)
      if (answer !== 'closed') return answer
      if (isFresh) return silence
      // It may have been closed for its age before the request arrived.
      const again = await exchange(line(), bytes, method)
      return again === 'closed' ? silence : again
    },
    close: () => socket?.destroy(),
  }
}

function isLast({ headers }: RawAnswer): boolean {
  return headers.get('connection')?.toLowerCase() === 'close'
}

/** The answer, once all of it is there. */
function readAnswer(got: Buffer, method: string, isOver: boolean): RawAnswer | undefined {
  const end = got.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const [first = '', ...lines] = got.subarray(0, end).toString('latin1').split('\r\n')
  const headers = new Map(
    lines.map((text) => [text.slice(0, text.indexOf(':')).toLowerCase(), text.slice(text.indexOf(':') + 1).trim()]),
  )
  const status = Number(first.split(' ')[1])
  const rest = got.subarray(end + 4)
  const length = headers.get('content-length')
  if (method === 'HEAD' || status === 204 || status === 304) return { status, headers, body: '' }
  if (headers.get('content-type')?.startsWith('text/event-stream')) return { status, headers, body: '' }
  if (length !== undefined && rest.length >= Number(length))
    return { status, headers, body: rest.subarray(0, Number(length)).toString('utf8') }
  const isWhole = isOver || rest.subarray(-7).toString('latin1').endsWith('0\r\n\r\n')
  return length === undefined && isWhole ? { status, headers, body: rest.toString('utf8') } : undefined
}
