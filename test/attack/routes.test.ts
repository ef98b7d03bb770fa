import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { allows, type Scope, scopes } from '../../src/surface/operation.ts'
import { importable } from '../support/cli-project.ts'
import { spellingsOf } from '../support/path-spellings.ts'
import { createRawClient, type RawAnswer, type RawRequest } from '../support/raw-http.ts'
import { type DeclaredRoute, resolveRoute, routeTable } from '../support/route-table.ts'
import { createChance, each, isProof, sample } from '../support/sampling.ts'
import { scratchFolder } from '../support/scratch-folder.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTally } from '../support/tally.ts'

const scratch = scratchFolder('routes')
const tally = createTally()
const consoleFolder = join(import.meta.dirname, '../../dist/console')

/** How many requests of each test the short form sends. */
const sampled = 2_000

/** Stands in every session, so that no answer can tell of one by accident. */
const canary = 'canary-5d41402abc'

const methods = [
  'HEAD',
  'OPTIONS',
  'POST',
  'GET',
  'PUT',
  'PATCH',
  'DELETE',
  'TRACE',
  'QUERY',
  'PROPFIND',
  'SEARCH',
  'get',
]

const secretOf = (scope: Scope) => `attack_token_of_${scope}`

type Asker = 'anonymous' | 'stranger' | Scope
const askers: readonly Asker[] = ['anonymous', 'stranger', ...scopes]

interface Attempt extends RawRequest {
  readonly route: DeclaredRoute
  readonly asker: Asker
  readonly how: string
}

/** A real server with a session that waits for an approval, and what each route answers to an admin. */
async function createTarget() {
  const folder = scratch.fresh()
  const database = join(folder, 'store.db')
  const config = join(folder, 'statewright.config.ts')
  const tokens = scopes.map((scope) => ({ name: scope, scope, token: secretOf(scope) }))
  writeFileSync(
    config,
    importable(`import { agent, defineConfig, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
     import { z } from 'zod'
     const refund = tool({ name: 'refund', input: z.object({}), approval: 'always', run: () => ({}) })
     const support = agent({ role: 'support', tools: [refund], model: scriptedModel([call('refund', {}), say('Done.')]) })
     export default defineConfig({
       store: 'sqlite:${database}', agents: { support }, server: { tokens: ${JSON.stringify(tokens)} },
     })`),
  )
  const server = await startServerProcess(config, database, ['--port', '0', '--quiet'])
  const { json: run } = await server.ask('/api/runs', { body: { agent: 'support', input: canary } })
  await expect.poll(async () => (await server.ask('/api/inbox')).json.items).toHaveLength(1)
  const [question] = (await server.ask('/api/inbox')).json.items
  const card = (await server.ask(`/api/interactions/${question.interaction_id}`)).json
  const ids: Readonly<Record<string, string>> = {
    id: run.session_id,
    session_id: run.session_id,
    run_id: run.run_id,
    interaction_id: card.interaction_id,
    execution_id: card.execution_id,
    name: 'contract',
    event_id: '1',
  }
  const { port, host } = new URL(server.url)
  const pathOf = ({ path }: DeclaredRoute) => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'none')
  return { server, host, port: Number(port), pathOf }
}

type Target = Awaited<ReturnType<typeof createTarget>>

function requestOf({ host }: Target, asker: Asker, method: string, target: string): RawRequest {
  const who =
    asker === 'anonymous' ? [] : [['Authorization', `Bearer ${asker === 'stranger' ? 'guessed' : secretOf(asker)}`]]
  const headers = [['Host', host], ...who] as [string, string][]
  if (method !== 'POST') return { method, target, headers }
  // A body that every operation refuses: nothing changes, from any sender.
  return {
    method,
    target,
    headers: [...headers, ['Content-Type', 'application/json'], ['Content-Length', '2']],
    body: '[]',
  }
}

/** Every route, by every asker, in every spelling of its path; and by every method under its own. */
function attemptsOn(target: Target, routes: readonly DeclaredRoute[]): readonly Attempt[] {
  return routes.flatMap((route) => {
    const path = target.pathOf(route)
    const ways = [
      { how: 'as it is', target: path, method: route.method as string },
      ...spellingsOf(path, target.host).map(({ how, target }) => ({ how, target, method: route.method as string })),
      ...methods.map((method) => ({ how: `method ${method}`, target: path, method })),
    ]
    return ways.flatMap((way) =>
      askers.map((asker) => ({ ...requestOf(target, asker, way.method, way.target), route, asker, ...way })),
    )
  })
}

/** The answer of each route to a valid request of an admin, by method and path; and all public responses. */
async function createSceneOf(target: Target, routes: readonly DeclaredRoute[]) {
  const client = createRawClient(target.port)
  const own = new Map<string, RawAnswer>()
  const free = new Set<string>()
  for (const route of routes) {
    const answer = await client.send(requestOf(target, 'admin', route.method, target.pathOf(route)))
    own.set(`${route.method} ${target.pathOf(route)}`, answer)
    if (route.access === 'open' || route.access === 'page') free.add(answer.body)
  }
  client.close()
  return { routes, own, free }
}

type Scene = Awaited<ReturnType<typeof createSceneOf>>

/** Why this answer is none that the declarations allow; undefined if it is one. */
function problemWith({ method, target, asker }: Attempt, answer: RawAnswer, scene: Scene): string | undefined {
  const { status, headers, body } = answer
  const found = resolveRoute(scene.routes, method, target)
  const access = found?.route.access
  const isFree = access === 'open' || access === 'page'
  const isKnown = asker !== 'anonymous' && asker !== 'stranger'
  const isAllowed = access !== undefined && !isFree && isKnown && allows(asker, access)
  if (!isAllowed && body.includes(canary)) return 'it tells of a session'
  if (headers.has('access-control-allow-origin') || headers.has('set-cookie')) return 'it lets another site in'
  if (status >= 400 && method !== 'HEAD' && !headers.get('content-type')?.startsWith('application/problem+json'))
    return 'the refusal is no problem document'
  // The server may hang up on what is not HTTP, and on a method that it cannot answer.
  if (found === undefined) return [0, 400, 404].includes(status) ? undefined : 'no route is called that'
  if (isFree) return status === 200 && (method === 'HEAD' || scene.free.has(body)) ? undefined : 'it is not the page'
  if (!isKnown) return status === 401 ? undefined : 'it should be 401'
  if (!isAllowed) return status === 403 ? undefined : 'it should be 403'
  const expected = scene.own.get(`${found.route.method} ${found.path}`)
  if (expected !== undefined) return status === expected.status ? undefined : `it should be ${expected.status}`
  return [400, 404, 409, 422].includes(status) ? undefined : 'nothing is called that'
}

async function attack(target: Target, attempts: readonly Attempt[], scene: Scene): Promise<readonly string[]> {
  const unexplained: string[] = []
  const clients = Array.from({ length: 4 }, () => createRawClient(target.port))
  await each(attempts, clients.length, async (attempt) => {
    const client = clients.pop() as (typeof clients)[number]
    const answer = await client.send(attempt)
    clients.push(client)
    const problem = problemWith(attempt, answer, scene)
    if (problem !== undefined)
      unexplained.push(
        `${attempt.method} ${JSON.stringify(attempt.target)} (${attempt.route.name}: ${attempt.how}) by ${attempt.asker}: ${answer.status}; ${problem}`,
      )
  })
  for (const client of clients) client.close()
  tally.count('path and scope requests', attempts.length, unexplained.length)
  return unexplained
}

test('F-80 routes: no spelling of a path, no method and no token gets more than the route declares', async () => {
  // GIVEN a server, and what its routes answer
  expect(existsSync(join(consoleFolder, 'index.html')), 'Build the console first: npm run build').toBe(true)
  const files = readdirSync(consoleFolder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name).slice(consoleFolder.length))
  const target = await createTarget()
  const routes = routeTable(files)
  const scene = await createSceneOf(target, routes)
  const answered = [...scene.own].filter(([name, { status }]) => name.startsWith('GET ') && status === 200)
  expect(answered.length).toBeGreaterThan(40)
  expect([...scene.own.values()].filter(({ status }) => status === 0 || status >= 500)).toEqual([])

  // WHEN they are asked in every way
  const all = attemptsOn(target, routes)
  expect(all.length).toBeGreaterThan(20_000)
  const chosen = isProof ? all : sample(all, sampled, createChance())
  const unexplained = await attack(target, chosen, scene)

  // THEN every answer is the declared one, and the server is well
  expect(unexplained.slice(0, 40)).toEqual([])
  expect((await target.server.ask('/healthz')).status).toBe(200)
  console.log(
    `routes: ${chosen.length} of ${all.length} requests on ${routes.length} routes, ${unexplained.length} unexplained`,
  )
})
