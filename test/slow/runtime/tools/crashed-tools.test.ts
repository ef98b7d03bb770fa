import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { createStatewright } from '../../../../src/app/statewright.ts'
import { isTerminal } from '../../../../src/kernel/machine.ts'
import { runMachine } from '../../../../src/machines/run.ts'
import type { Rune } from '../../../../src/runes/rune.ts'
import { agent } from '../../../../src/runtime/define-agent.ts'
import { scriptedModel } from '../../../../src/runtime/scripted-model.ts'
import { createProject, idIn, importable, type Project } from '../../../support/cli-project.ts'
import { eventually } from '../../../support/eventually.ts'
import { freshDatabase } from '../../../support/postgres.ts'
import { isProof } from '../../../support/sampling.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'
import { startServerProcess } from '../../../support/server-process.ts'

const scratch = scratchFolder('crashed-tools')
const launcher = fileURLToPath(new URL('../../../../bin/statewright.js', import.meta.url))

/** Tools that throw in a timer until the file "calm" is there, and one that waits for it. Each call leaves a line in "deeds". */
const crashing = `
import { appendFileSync, existsSync } from 'node:fs'
import { agent, defineConfig, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'

const calm = () => existsSync(new URL('./calm', import.meta.url))
const done = (deed) => appendFileSync(new URL('./deeds', import.meta.url), deed + '\\n')
const crash = (deed) => {
  done(deed)
  if (calm()) return deed
  setTimeout(() => { throw new Error('the timer broke; the key is sk-live-0123456789') }, 20)
  return new Promise(() => {})
}
const until = async () => {
  done('waited')
  while (!calm()) await new Promise((resolve) => setTimeout(resolve, 20))
  return 'calm'
}
const options = { input: z.object({}), approval: 'never' }
const read = tool({ name: 'shop.read', ...options, readOnly: true, run: () => crash('read') })
const pay = tool({ name: 'shop.pay', ...options, irreversible: true, run: () => crash('paid') })
const wait = tool({ name: 'shop.wait', ...options, readOnly: true, run: until })
const told = ({ messages }) => {
  const last = messages.findLast(({ role }) => role === 'tool')
  return last === undefined ? undefined : say(last.consequence.consequence_label + ': ' + last.consequence.error_message)
}
const plays = (tools, name) =>
  agent({ role: name, tools, model: scriptedModel((request) => told(request) ?? call(name, {})) })
const reader = plays([read], 'shop.read')
const payer = plays([pay], 'shop.pay')
const waiter = plays([wait], 'shop.wait')
`
const agents = `{ reader, payer, waiter }, secrets: { shop: 'sk-live-0123456789' }, policy: { mode: 'full_access' }`

const deeds = ({ folder }: Project) => readFileSync(join(folder, 'deeds'), 'utf8').trim().split('\n')

async function runesOf(project: Project, run_id: string): Promise<readonly Rune[]> {
  const { out } = await project.cli(['show', run_id, '--events', '--json'])
  return out.split('\n').map((line) => JSON.parse(line) as Rune)
}

/** The launcher in a process of its own, until it ends. */
async function launch(project: Project, args: readonly string[]) {
  const child = spawn(process.execPath, [launcher, ...args, '--config', project.config])
  onTestFinished(() => void child.kill('SIGKILL'))
  let err = ''
  child.stderr.setEncoding('utf8').on('data', (piece) => {
    err += piece
  })
  const [code] = await once(child, 'close')
  return { exit: code as number, err }
}

/** The expected and the forbidden text on standard error. */
function expectAttribution(err: string, tool: string, run_id: string) {
  expect(err).toContain('a tool crashed where no code could catch it; the process ends')
  expect(err).toContain(tool)
  expect(err).toContain(run_id)
  expect(err).toContain('the timer broke; the key is [secret:shop]')
  expect(err).not.toContain('sk-live')
  expect(err).not.toContain('The process ended before the command was done')
}

test('F-35 serve: a throw in a timer of a tool is recorded with its call before the process ends; others recover', async () => {
  const project = createProject(scratch.fresh(), agents, crashing)
  const database = join(project.folder, 'statewright.db')
  const server = await startServerProcess(project.config, database)
  const submit = async (agent: string) => {
    const { json } = await server.ask('/api/runs', { body: { agent, input: 'Go.' } })
    return json.run_id as string
  }
  const waiter = await submit('waiter')
  await eventually('the other call', async () => (existsSync(join(project.folder, 'deeds')) ? true : undefined))
  const reader = await submit('reader')
  expect(await server.over).toBe(1)
  expectAttribution(server.err(), 'shop.read', reader)

  const failed = (await runesOf(project, reader)).find((rune) => rune.kind === 'contract.moved' && rune.to === 'failed')
  expect(failed?.payload).toMatchObject({
    error_kind: 'crashed',
    error_message: expect.stringContaining('It crashed where no code could catch it: the timer broke'),
  })

  writeFileSync(join(project.folder, 'calm'), '')
  expect(await project.cli(['watch', waiter, '--work'])).toMatchObject({
    exit: 0,
    out: expect.stringContaining('SUCCESS'),
  })
  expect(await project.cli(['watch', reader, '--work'])).toMatchObject({ exit: 0 })
  const { out } = await project.cli(['show', reader, '--json'])
  expect(JSON.parse(out)).toMatchObject({ status: 'succeeded', result: expect.stringContaining('FAILED: It crashed') })
  expect(deeds(project).filter((deed) => deed === 'read')).toHaveLength(1)
})

// The worker below is on PostgreSQL in the short form, too.
test.each(isProof ? ['sqlite', 'postgres'] : ['sqlite'])(
  'F-35 run on %s: an irreversible call that crashes so has an unknown outcome, and is not repeated',
  async (store) => {
    const url = store === 'postgres' ? await freshDatabase() : undefined
    const project = createProject(scratch.fresh(), agents, crashing, url)
    const { exit, err } = await launch(project, ['run', 'Go.', '--agent', 'payer'])
    expect(exit).toBe(8)
    const run_id = idIn(err, 'run')
    expectAttribution(err, 'shop.pay', run_id)
    expect(err).toContain('Whether shop.pay happened is unknown')
    expect(err).toContain(`statewright watch ${run_id} --work --config ${project.config}`)
    const evidence = (await runesOf(project, run_id)).find((rune) => rune.kind === 'contract.evidence_added')
    expect(evidence?.payload).toMatchObject({ source: 'tool', message: expect.stringContaining('the timer broke') })

    writeFileSync(join(project.folder, 'calm'), '')
    const watched = await project.cli(['watch', run_id, '--work'])
    expect(watched).toMatchObject({ exit: 4, err: expect.stringContaining('settlement') })
    expect(deeds(project)).toEqual(['paid'])
  },
)

test('F-35 worker on PostgreSQL: the crash is recorded, and another worker goes on with the run', async () => {
  const store = await freshDatabase()
  const project = createProject(scratch.fresh(), agents, crashing, store)
  const reader = agent({ role: 'reader', model: scriptedModel([]) })
  const sw = await createStatewright({ store, agents: { reader }, maxConcurrentRuns: 0 })
  onTestFinished(() => sw.close())
  const { runId, sessionId } = await sw.runs.start({ agent: 'reader', input: 'Go.' })
  const { exit, err } = await launch(project, ['worker'])
  expect(exit).toBe(1)
  expectAttribution(err, 'shop.read', runId)
  const failed = (await sw.runelog.read(sessionId)).find(
    (rune) => rune.kind === 'contract.moved' && rune.to === 'failed',
  )
  expect(failed?.payload).toMatchObject({ error_kind: 'crashed' })

  void launch(project, ['worker'])
  const status = async () => await sw.runs.show(runId)
  const ended = await eventually('the end of the run', async () =>
    isTerminal(runMachine, (await status()).status) ? status() : undefined,
  )
  expect(ended).toMatchObject({ status: 'succeeded', result: expect.stringContaining('FAILED: It crashed') })
  expect(deeds(project)).toEqual(['read'])
})

/** A program of someone else that embeds Statewright. */
const host = (store: string, body: string) => `
import { agent, createStatewright, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'

const crash = tool({
  name: 'shop.read', input: z.object({}), readOnly: true,
  run: () => {
    setTimeout(() => { throw new Error('of the tool') }, 5)
    return new Promise(() => {})
  },
})
const model = scriptedModel(({ messages }) => {
  const last = messages.findLast(({ role }) => role === 'tool')
  return last === undefined ? call('shop.read', {}) : say(last.consequence.error_message)
})
const sw = await createStatewright({ store: 'sqlite:${store}', agents: { main: agent({ role: 'main', tools: [crash], model }) } })
${body}
`

async function embed(body: string) {
  const folder = scratch.fresh()
  const file = join(folder, 'host.mts')
  writeFileSync(file, importable(host(join(folder, 'host.db'), body)))
  const child = spawn(process.execPath, [file], { cwd: folder })
  onTestFinished(() => void child.kill('SIGKILL'))
  const said = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    said.out += piece
  })
  child.stderr.setEncoding('utf8').on('data', (piece) => {
    said.err += piece
  })
  const [exit] = await once(child, 'close')
  return { exit: exit as number, ...said }
}

test('F-35 library: an uncaught error of the host ends the process as Node does, with nothing of ours', async () => {
  const { exit, err } = await embed(`setTimeout(() => { throw new TypeError('of the host') }, 5)`)
  expect(exit).toBe(1)
  expect(err).toMatch(/host\.mts:\d+\n.*TypeError: of the host\n {4}at /s)
  expect(err).not.toContain('a tool crashed')
})

test('F-35 library: an uncaught error of a tool ends the process as Node does, after it is named', async () => {
  const { exit, err } = await embed(`await sw.runs.start({ agent: 'main', input: 'Go.' })`)
  expect(exit).toBe(1)
  expect(err).toContain('a tool crashed where no code could catch it; the process ends')
  expect(err).toMatch(/Error: of the tool\n {4}at /)
})

test('F-35 library: a host that catches uncaught errors goes on, and the call has failed', async () => {
  const { exit, out, err } = await embed(`
    process.on('uncaughtException', (error) => console.log('caught', error.message))
    const run = await sw.runs.start({ agent: 'main', input: 'Go.' })
    console.log(await run.result())
    await sw.close()
  `)
  expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining('caught of the tool') })
  expect(out).toContain("result: 'It crashed where no code could catch it: of the tool'")
  expect(err).toContain('the process goes on')
})
