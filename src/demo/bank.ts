/**
 * The bank: a process that the demo never kills. It writes every payment to its book before it answers, a repeated one
 * twice. It ends with its standard input.
 */
import { fsyncSync, openSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

/** One line of the book. */
export interface Payment {
  readonly key: string
  readonly order: number
  readonly cents: number
}

/** Messages of the bank. */
export type BankSays =
  | { readonly type: 'open'; readonly url: string }
  | { readonly type: 'received'; readonly payment: Payment }

const slowness_ms = 3_000

const [path = ''] = process.argv.slice(2)
const book = openSync(path, 'a', 0o600)
const say = (message: BankSays) => writeSync(1, `${JSON.stringify(message)}\n`)

const server = createServer(async (request, response) => {
  const payment = JSON.parse(await text(request)) as Payment
  writeSync(book, `${JSON.stringify(payment)}\n`)
  fsyncSync(book)
  say({ type: 'received', payment })
  // A slow bank: there is time to kill the process that waits for the answer.
  await delay(slowness_ms)
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ receipt: payment.key.slice(0, 8) }))
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  say({ type: 'open', url: `http://127.0.0.1:${port}/payments` })
})
process.stdin.resume().on('end', () => process.exit(0))
