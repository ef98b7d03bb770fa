import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { systemTimers } from '../../src/adapters/host/ports.ts'
import { say } from '../../src/runtime/scripted-model.ts'
import { tokenOf } from '../../src/server/guard.ts'
import { createServer } from '../../src/server/server.ts'
import { consoleAddresses } from '../../src/wire/console-addresses.ts'
import { createBackendWorld, refund, supportAgent } from '../support/backend.ts'
import { createRawClient } from '../support/raw-http.ts'
import { scratchFolder } from '../support/scratch-folder.ts'
import { secretOf, startServer } from '../support/server.ts'

const scratch = scratchFolder('pages')
const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

async function served(options: Parameters<typeof startServer>[1] = {}) {
  const { world, backend } = await createBackendWorld({
    support: supportAgent([refund, say('Done.')]),
    quick: supportAgent([say('Done.')]),
  })
  const server = await startServer(backend, options)
  open.push(() => world.end(), server.close)
  return { world, backend, ...server }
}

test('server pages: lists go on where the page before ended, whatever happens in between, and can be narrowed', async () => {
  const { ask, world } = await served()
  const ids: string[] = []
  for (let n = 0; n < 7; n++) {
    const run = await world.sw.runs.start({ agent: n % 2 === 0 ? 'quick' : 'support', input: `Order ${n}.` })
    await world.sw.idle()
    await world.hand.advance(10)
    ids.unshift(run.sessionId)
  }
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { json } = await ask(`/api/sessions?limit=3${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`)
    expect(json.items.length).toBeLessThanOrEqual(3)
    seen.push(...json.items.map(({ session_id }: { session_id: string }) => session_id))
    cursor = json.next_cursor
    // New entries come before the first page.
    await world.sw.sessions.create({ agent: 'quick' })
    await world.hand.advance(10)
  }
  expect(seen).toEqual(ids)

  const found = async (query: string) => (await ask(`/api/sessions?${query}`)).json.items
  expect(await found('status=waiting_user')).toHaveLength(3)
  expect(await found('status=waiting_user&agent=quick')).toEqual([])
  expect(await found('agent=support')).toHaveLength(3)
  expect(await found('state=created')).toHaveLength(3)
  expect(await found('q=order%204')).toMatchObject([{ title: 'Order 4.', status: 'succeeded' }])
  expect((await found('status=waiting_user'))[0]).toMatchObject({
    waiting: 1,
    waiting_for: { interaction_kind: 'approval' },
    used: { tool_calls: 1 },
    current_line: expect.stringContaining('It asks: payments.refund is declared to need approval each time.'),
  })

  const runs = (await ask('/api/runs?limit=4')).json
  const rest = (await ask(`/api/runs?limit=4&cursor=${runs.next_cursor}`)).json
  expect([...runs.items, ...rest.items].map(({ session_id }) => session_id)).toEqual(ids)
  expect(rest.next_cursor).toBeNull()
  for (const bad of ['nonsense', '_', '12_a/b', '9'.repeat(400)])
    expect(await ask(`/api/runs?cursor=${encodeURIComponent(bad)}`), bad).toMatchObject({ status: 422 })
})

test('server pages: runes are read forwards and backwards, and by kind, without gaps', async () => {
  const { ask, world } = await served()
  const { sessionId } = await world.sw.runs.start({ agent: 'support', input: 'Refund.' })
  await world.sw.idle()
  const all = (await world.runes(sessionId)).map(({ event_id }) => event_id)
  const walk = async (query: string, step: (next: number) => string) => {
    const events: number[] = []
    let more = ''
    for (;;) {
      const { items, next } = (await ask(`/api/sessions/${sessionId}/runes?limit=4&${query}${more}`)).json
      events.push(...items.map(({ event_id }: { event_id: number }) => event_id))
      if (next === null) return events
      more = step(next)
    }
  }
  expect(await walk('', (next) => `&after=${next}`)).toEqual(all)
  expect(await walk('backward=true', (next) => `&before=${next}`)).toEqual(all.toReversed())
  const tools = (await world.runes(sessionId)).filter(({ kind }) => kind.startsWith('tool.') || kind === 'run.moved')
  expect(await walk('kinds=tool.,run.moved', (next) => `&after=${next}`)).toEqual(tools.map(({ event_id }) => event_id))
  expect(await walk('kinds=goal.', (next) => `&after=${next}`)).toEqual([])
})

test('server pages: the console is served without a token, with its rules, and nothing else of the disk is', async () => {
  const folder = scratch.fresh()
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>console</title>')
  writeFileSync(join(folder, 'assets', 'index-a1b2c3d4.js'), 'console.log(1)')
  writeFileSync(join(folder, 'assets', 'notes.txt'), 'not for you')
  writeFileSync(join(folder, '..', 'secret.html'), 'not for you either')
  const { ask, url } = await served({ console_folder: folder })
  const anyone = { token: null }

  const page = await ask('/', anyone)
  expect(page).toMatchObject({ status: 200, text: '<!doctype html><title>console</title>' })
  const looked = await fetch(`${url}/`, { method: 'HEAD' })
  expect({ status: looked.status, text: await looked.text() }).toEqual({ status: 200, text: '' })
  const policy = page.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("script-src 'self'")
  expect(policy).not.toContain('unsafe')
  expect(page.headers.get('cache-control')).toBe('no-cache')
  // An address that only the console understands is answered with its first page; a link from elsewhere may lead there.
  const linked = { ...anyone, headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' } }
  expect((await ask('/s/ses_1?tab=raw', linked)).text).toBe(page.text)
  const script = await ask('/assets/index-a1b2c3d4.js', anyone)
  expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  expect(script.headers.get('cache-control')).toContain('immutable')
  const etag = script.headers.get('etag') ?? ''
  expect((await ask('/assets/index-a1b2c3d4.js', { ...anyone, headers: { 'if-none-match': etag } })).status).toBe(304)

  for (const path of [
    '/assets/notes.txt',
    '/assets/none.js',
    '/../secret.html',
    '/..%2fsecret.html',
    '/%2e%2e/secret.html',
  ])
    expect((await ask(path, anyone)).text, path).not.toContain('not for you')
  expect((await ask('/assets/notes.txt', anyone)).status).toBe(404)
  expect((await ask('/', { ...anyone, headers: { host: 'evil.example' } })).status).toBe(403)
  expect((await fetch(`${url}/`, { method: 'POST' })).status).toBe(404)
})

test('F-77 pages: an address that is neither a file nor a page of the console is not there', async () => {
  const folder = scratch.fresh()
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>console</title>')
  const { ask } = await served({ console_folder: folder })
  for (const path of [
    '/metrics',
    '/health',
    '/livez',
    '/api',
    '/api/none',
    '/sessions/',
    '/s',
    '/s/',
    '/s/..',
    '/S/ses_1',
  ])
    for (const token of [null, secretOf('admin')])
      expect(await ask(path, { token }), path).toMatchObject({ status: 404, json: { code: 'no_route' } })
  for (const address of consoleAddresses)
    expect((await ask(address.replaceAll(/:\w+/g, 'a_1'), { token: null })).text, address).toContain('<title>console')
})

test('F-80 guard: it judges the route that the router matched, and a route without a declared access is not there', async () => {
  const { ask, url, backend } = await served()
  for (const path of ['/%61pi/sessions', '/ap%69/sessions', '/%61%70%69/%73%65%73%73%69%6f%6e%73'])
    for (const method of ['GET', 'HEAD']) expect((await ask(path, { token: null, method })).status, path).toBe(401)
  expect((await ask('/%61pi/sessions')).status).toBe(200)
  expect(await ask('/%61pi/sessions', { token: secretOf('read'), body: {} })).toMatchObject({ status: 403 })

  const tokens = [tokenOf('admin', 'admin', secretOf('admin'))]
  const newId = () => 'req_1'
  const careless = createServer({ backend, operations: [], tokens, version: '1.2.3', newId, timers: systemTimers })
  careless.get('/forgotten', async () => 'data')
  const headers = { host: 'localhost', authorization: `Bearer ${secretOf('admin')}` }
  expect((await careless.inject({ url: '/forgotten', headers })).json()).toMatchObject({
    status: 404,
    code: 'no_route',
  })

  // The name in an absolute target would outrank the Host header, and of two headers a proxy may read the other one.
  const client = createRawClient(Number(new URL(url).port))
  open.push(async () => client.close())
  const host = ['Host', new URL(url).host] as const
  const who = ['Authorization', `Bearer ${secretOf('admin')}`] as const
  const sent = async (target: string, headers: readonly (readonly [string, string])[]) =>
    (await client.send({ method: 'GET', target, headers })).status
  expect(await sent('/api/sessions', [host, who])).toBe(200)
  expect(await sent('http://evil.example/api/sessions', [host, who])).toBe(400)
  expect(await sent('/api/sessions#x', [host, who])).toBe(400)
  expect(await sent('/api/sessions', [host, ['Host', 'evil.example'], who])).toBe(400)
  expect(await sent('/api/sessions', [host, ['Authorization', 'Bearer guessed'], who])).toBe(400)
  expect(await sent('/api/sessions?%74oken=x', [host, who])).toBe(400)
})

test('guard: names in the Host header are compared without case', async () => {
  const { ask } = await served({ hosts: ['Ops.Example.com'] })
  for (const host of ['ops.example.com', 'OPS.example.com:443'])
    expect((await ask('/api/sessions', { headers: { host } })).status, host).toBe(200)
})
