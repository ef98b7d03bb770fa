import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import * as yaml from 'yaml'
import { readYaml } from '../../src/adapters/files/documents.ts'
import { boundedJson, canonicalJson, jsonLimits } from '../../src/kernel/json.ts'
import { checkReply } from '../../src/runtime/commands/reply.ts'
import { readEcsRequest } from '../../src/runtime/ecs/request.ts'
import { foreignShape } from '../../src/runtime/tools/foreign-schema.ts'
import { writtenArguments } from '../../src/runtime/turns/model-call.ts'
import { type Way, ways } from '../support/hostile-agents.ts'
import { fixedTexts, type HostileText, randomTexts, treacherous } from '../support/hostile-values.ts'
import { runCli } from '../support/run-cli.ts'
import { isProof, sample, seed } from '../support/sampling.ts'
import { scratchFolder } from '../support/scratch-folder.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTally } from '../support/tally.ts'

const tally = createTally()
const scratch = scratchFolder('hostile')
const what = 'hostile inputs'

/** Characters that no terminal may get raw: C0 but tab and line feed, DEL, C1, bidi and invisible ones. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const raw = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/

interface Input extends HostileText {
  readonly way: Way
}

function inputs(): readonly Input[] {
  const all = ways.flatMap((way) => fixedTexts.map((text) => ({ ...text, way })))
  // A config may hand a million characters to a process, but no one line of a local server may have ten.
  if (!isProof) return sample(all, 30)
  return [...all, ...ways.flatMap((way, i) => randomTexts(100, seed + i).map((text) => ({ ...text, way })))]
}

type Served = Awaited<ReturnType<typeof startServerProcess>>

/** Asks `/healthz` all the time, and says how long the longest answer took since it was last asked. */
function watchHealth({ url }: Served) {
  let longest = 0
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const before = performance.now()
      const { status } = await fetch(`${url}/healthz`)
      longest = Math.max(longest, status === 200 ? performance.now() - before : Number.POSITIVE_INFINITY)
      await delay(10)
    }
  })()
  return {
    take() {
      const took = longest
      longest = 0
      return took
    },
    async end() {
      isOver = true
      await watching
    },
  }
}

type Health = ReturnType<typeof watchHealth>

const calm_ms = 200

/** Plays an input and says what is wrong. A busy machine makes the process wait as well: a slow one is played again before it counts. */
async function calmly(health: Health, play: () => Promise<string | undefined>): Promise<string | undefined> {
  for (let tries = 3; ; tries--) {
    health.take()
    const problem = await play()
    const took = health.take()
    if (problem !== undefined || took <= calm_ms) return problem
    if (tries === 1) return `/healthz took ${took.toFixed(0)} ms`
  }
}

/** How a run may end for a hostile input: its call failed and it went on, or its stream was refused with a sentence. */
const endings = /^(succeeded|failed)$/

/** Plays one input and says what is wrong with how it went; undefined if nothing is. */
async function play({ ask }: Served, folder: string, { name, way, text }: Input): Promise<string | undefined> {
  const file = join(folder, `${name.replaceAll(/\W/g, '_')}.txt`)
  writeFileSync(file, text)
  const submitted = await ask('/api/runs', { body: { agent: 'hostile', input: { way, file } } })
  if (submitted.status !== 200) return `submitting answered ${submitted.status}: ${submitted.text.slice(0, 200)}`
  const { run_id } = submitted.json
  for (let left = 1_500; left > 0; left--) {
    const { json } = await ask(`/api/runs/${run_id}`)
    if (endings.test(json.status)) return explained(json)
    if (json.status === 'waiting_user' || (way.endsWith('form') && left % 10 === 0)) await answerAll(ask)
    await delay(10)
  }
  const cancelled = await ask(`/api/runs/${run_id}/cancel`, { body: {} })
  return `it was not over after 15 s, and its cancel was answered with ${cancelled.status}`
}

function explained({
  status,
  error_code,
  message,
}: {
  status: string
  error_code: string | null
  message: string | null
}) {
  if (status === 'succeeded') return undefined
  if (error_code === null || message === null || message.length > 5_000)
    return `it failed without a sentence: ${error_code}`
  return ['BAD_EVENT', 'ANSWER_TOO_LONG', 'STREAM_FAILED'].includes(error_code)
    ? undefined
    : `${error_code}: ${message}`
}

/** Questions that a hostile tool got through are refused, as a person would. */
async function answerAll(ask: Served['ask']) {
  const { json } = await ask('/api/inbox')
  for (const { interaction_id } of json.items)
    await ask(`/api/interactions/${interaction_id}/answer`, { body: { reply: { action: 'reject' } } })
}

/** Sends hostile bodies and queries to a server, and names those that it does not answer with a sentence. */
async function overHttp(served: Served, health: Health): Promise<readonly string[]> {
  const texts = isProof ? [...fixedTexts, ...randomTexts(200, seed)] : sample(fixedTexts, 12)
  const unexplained: string[] = []
  const posts = [
    '/api/runs',
    '/api/sessions',
    '/api/goals',
    '/api/plans',
    '/api/interactions/int_1/answer',
    '/api/runs/run_1/steer',
  ]
  for (const { name, text } of texts)
    for (const path of isProof ? posts : sample(posts, 2)) {
      for (const sent of [
        text,
        `{"agent":"hostile","input":${text || '1'}}`,
        `{"agent":"hostile","input":${text || '1'},"title":${text || '1'},"metadata":${text || '{}'}}`,
      ]) {
        const problem = await calmly(health, () => post(served, path, sent))
        tally.count(what, 1, problem === undefined ? 0 : 1)
        if (problem !== undefined) unexplained.push(`POST ${path} with ${name}: ${problem}`)
      }
    }
  const queries = ['q', 'cursor', 'limit', 'status', 'after', 'kinds', 'last_event_id']
  for (const query of queries)
    for (const value of sample(
      [
        '-1',
        '1e999',
        'NaN',
        '9'.repeat(400),
        '%00',
        encodeURIComponent(treacherous),
        '%ff',
        '__proto__',
        '[]',
        'x'.repeat(4_000),
      ],
      isProof ? 10 : 2,
    ))
      for (const path of ['/api/sessions', '/api/runs', '/api/inbox', '/api/sessions/ses_1/runes']) {
        const { status } = await served.ask(`${path}?${query}=${value}`)
        tally.count(what, 1, status < 500 ? 0 : 1)
        if (status >= 500) unexplained.push(`GET ${path}?${query}=${value.slice(0, 20)}: ${status}`)
      }
  return unexplained
}

async function post(served: Served, path: string, raw: string): Promise<string | undefined> {
  const { status, json } = await served
    .ask(path, { raw, method: 'POST', headers: { 'content-type': 'application/json' } })
    .catch((error: NodeJS.ErrnoException) => {
      // The server answers 413 and hangs up while the rest is still being sent; the client may hear only the latter.
      if (raw.length < 1_000_000 || !['EPIPE', 'ECONNRESET'].includes(error.code ?? '')) throw error
      return { status: 413, json: { title: 'hung up' } }
    })
  const isFine = status < 500 && (status < 300 || typeof (json?.detail ?? json?.title) === 'string')
  return isFine ? undefined : String(status)
}

test('F-88 hostile inputs: a real server refuses input of tools, models, MCP and HTTP or records it as data, and stays responsive', async () => {
  const folder = scratch.fresh()
  const config = join(folder, 'statewright.config.ts')
  const agents = pathToFileURL(join(import.meta.dirname, '../support/hostile-agents.ts')).href
  writeFileSync(
    config,
    `import { hostileConfig } from ${JSON.stringify(agents)}\nexport default hostileConfig('sqlite:${folder}/app.db')\n`,
  )
  const served = await startServerProcess(config, join(folder, 'app.db'))
  const health = watchHealth(served)
  const unexplained: string[] = []
  try {
    for (const input of inputs()) {
      const problem = await calmly(health, () => play(served, folder, input))
      tally.count(what, 1, problem === undefined ? 0 : 1)
      if (problem !== undefined) unexplained.push(`${input.way} of ${input.name}: ${problem}`)
    }
    unexplained.push(...(await overHttp(served, health)))
  } finally {
    await health.end()
  }
  expect(unexplained).toEqual([])
  expect((await fetch(`${served.url}/healthz`)).status).toBe(200)
  expect(served.out() + served.err()).not.toMatch(/\n\s+at .*\(/)
}, 1_200_000)

test('hostile inputs: readers of values, forms, replies, schemas, arguments and YAML never throw, and accepted values can be recorded', () => {
  const texts = [...fixedTexts, ...randomTexts(isProof ? 3_000 : 60, seed)]
  const unexplained: string[] = []
  for (const { name, text } of texts) {
    const value = parsed(text)
    const form = { type: 'form', title: 'a', fields: [{ name: 'a', default: value }] }
    const readers: Readonly<Record<string, () => unknown>> = {
      value: () => recorded(boundedJson(value, jsonLimits.result)),
      arguments: () => recorded(writtenArguments(text)),
      form: () => [readEcsRequest(value), readEcsRequest(form)],
      reply: () =>
        checkReply('ecs', { title: 'a', type: 'form', fields: [{ name: 'a' }] }, { action: 'approve', data: value }),
      settlement: () => checkReply('settlement', {}, { outcome: 'happened', result: value }),
      schema: () => [foreignShape(value), foreignShape({ type: 'object', properties: value })],
      yaml: () => (text.length > 50_000 ? undefined : readYaml(text, yaml).map(recorded)),
    }
    for (const [reader, read] of Object.entries(readers)) {
      const problem = problemOf(read)
      tally.count(what, 1, problem === undefined ? 0 : 1)
      if (problem !== undefined) unexplained.push(`${reader} of ${name}: ${problem}`)
    }
  }
  expect(unexplained).toEqual([])
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
})

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** An accepted value must have a canonical text. */
function recorded(read: object): void {
  if ('value' in read) canonicalJson(read.value as never)
  else if (!('problem' in read) || typeof read.problem !== 'string' || read.problem === '')
    throw new Error('no sentence')
}

function problemOf(read: () => unknown): string | undefined {
  const before = performance.now()
  try {
    read()
  } catch (error) {
    return String(error).slice(0, 200)
  }
  const took = performance.now() - before
  return took > 5_000 ? `it took ${took.toFixed(0)} ms` : undefined
}

test('command line: hostile files and arguments are refused by name, and no raw control character is printed', async () => {
  const folder = scratch.fresh()
  const files: Readonly<Record<string, string>> = {
    'bomb.yaml': `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'.replaceAll(/./g, (c) => `${c}: &${c} [${Array(9).fill(`*${String.fromCharCode(c.charCodeAt(0) - 1)}`)}]\n`)}`,
    'deep.yaml': '['.repeat(50_000),
    'dashes.yaml': '- '.repeat(50_000),
    'ring.yaml': 'a: &a [*a]',
    'proto.yaml': '__proto__: {polluted: true}',
    'nan.yaml': 'intent: .nan',
    'surrogate.json': '{"intent":"\\ud800"}',
    'codes.yaml': `"${[...treacherous].filter((c) => c > '\r').join('')}": [`,
    'twice.yaml': 'a: 1\na: 2',
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  mkdirSync(join(folder, 'store'))
  const store = `sqlite:${folder}/store/app.db`
  const attempts: string[][] = [
    ...Object.keys(files).flatMap((name) => [
      ['plan', 'check', join(folder, name)],
      ['plan', 'submit', join(folder, name)],
      ['plan', 'explain', join(folder, name)],
    ]),
    ...['show', 'approve', 'answer', 'timeline', 'verify', treacherous].map((command) => [
      command,
      treacherous,
      '--store',
      store,
    ]),
    ['ps', '--store', `sqlite:${folder}/${treacherous.replaceAll('\u0000', '')}.db`],
    ['ps', `--${treacherous}`],
    ['run', '__proto__', 'x'.repeat(100_000)],
    ['show', 'x'.repeat(100_000), '--store', store],
  ]
  const unexplained: string[] = []
  for (const args of attempts) {
    const { exit, out, err } = await runCli(args)
    const said = out + err
    const problem =
      exit === 0
        ? 'it was accepted'
        : raw.test(said)
          ? `raw characters: ${JSON.stringify(said.slice(0, 200))}`
          : /\n\s+at .*[(:]/.test(said)
            ? `a stack: ${said.slice(0, 300)}`
            : said.trim() === ''
              ? 'no sentence'
              : undefined
    tally.count(what, 1, problem === undefined ? 0 : 1)
    if (problem !== undefined) unexplained.push(`${JSON.stringify(args).slice(0, 100)}: ${problem}`)
  }
  expect(unexplained).toEqual([])
})
