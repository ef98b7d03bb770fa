/**
 * A bank in a process of its own. It refuses nothing: a payment that is sent twice stands in its book twice. How it
 * answers is in the path. It ends with its standard input.
 */
import { appendFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** `hang_up`, `silent` and `gateway` book the payment first; `reset` and `declined` do not book it. */
export type BankManner = 'hang_up' | 'silent' | 'gateway' | 'reset' | 'declined' | 'honest'

const [book = ''] = process.argv.slice(2)

const server = createServer(async (request, response) => {
  const manner = (request.url ?? '').slice(1) as BankManner
  const payment = await bodyOf(request)
  if (manner === 'reset') return void request.socket.resetAndDestroy()
  if (manner === 'declined') return void response.writeHead(402).end('card declined')
  appendFileSync(book, `${payment}\n`)
  if (manner === 'hang_up') return void request.socket.destroy()
  if (manner === 'gateway') return void response.writeHead(504).end('upstream timed out, reference ZX-81')
  if (manner === 'honest') response.end(JSON.stringify({ receipt: 'R-1' }))
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`http://127.0.0.1:${port}`)
})
process.stdin.resume().on('end', () => process.exit(0))

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}
