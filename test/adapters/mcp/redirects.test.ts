import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { boundedFetch } from '../../../src/adapters/mcp/transport.ts'

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('mcp: the headers of a server go to its own origin only, wherever it sends the client', async () => {
  const heard: IncomingMessage[] = []
  const other = await listening(createServer((request, response) => response.end(String(heard.push(request)))))
  const own = await listening(
    createServer((request, response) => {
      if (request.url === '/mcp') response.writeHead(307, { location: '/mcp/' }).end()
      else if (request.url === '/away') response.writeHead(307, { location: other }).end()
      else if (request.url === '/round') response.writeHead(307, { location: '/round' }).end()
      else response.end(`${request.method} ${request.headers['x-api-key']}`)
    }),
  )
  const init = { method: 'POST', headers: { 'x-api-key': 'hush' }, body: '{}' }
  expect(await (await boundedFetch(`${own}/mcp`, init)).text()).toBe('POST hush')
  await expect(boundedFetch(`${own}/away`, init)).rejects.toThrow(`it redirects to ${other}`)
  await expect(boundedFetch(`${own}/round`, init)).rejects.toThrow('more than 5 times')
  expect(heard).toEqual([])
})
