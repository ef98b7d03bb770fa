import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/app/load-config.ts'
import { openExisting } from '../../../src/app/open-store.ts'
import { createStatewright } from '../../../src/app/statewright.ts'
import type { Rune } from '../../../src/runes/rune.ts'
import { createProject, idIn, importable, type Project } from '../../support/cli-project.ts'
import { eventually } from '../../support/eventually.ts'
import { isProof } from '../../support/sampling.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('cli-acting')
const launcher = join(import.meta.dirname, '../../../bin/statewright.js')
const waiting = isProof ? 1_000 : 200

/** Every rune of the store, by session. */
async function runesIn({ store }: Project): Promise<ReadonlyMap<string, readonly Rune[]>> {
  const { runelog } = await openExisting(store, 'look')
  const runes = new Map<string, readonly Rune[]>()
  for (const session_id of await runelog.sessionIds()) runes.set(session_id, await runelog.read(session_id))
  await runelog.close()
  return runes
}

test(`F-28 recovery: an acting command on a store with ${waiting} waiting runs writes only into its own session`, async () => {
  const project = createProject(scratch.fresh())
  const sw = await createStatewright(await loadConfig(project.config))
  await Promise.all(Array.from({ length: waiting }, () => sw.runs.start({ agent: 'obedient', input: 'form' })))
  const asked = await eventually('all of them wait', async () => {
    const inbox = await sw.inbox.list()
    return inbox.length === waiting ? inbox : undefined
  })
  await sw.close()
  const [first, second, third, fourth] = asked
  const fields = ['colour=red', 'count=2']
  const commands: readonly [session_id: string | undefined, command: readonly string[]][] = [
    [first?.session_id, ['answer', first?.interaction_id ?? '', ...fields]],
    [second?.session_id, ['steer', second?.run_id ?? '', 'go on']],
    [third?.session_id, ['pause', third?.session_id ?? '']],
    [fourth?.session_id, ['cancel', fourth?.run_id ?? '']],
  ]
  for (const [session_id, command] of commands) {
    const before = await runesIn(project)
    expect(await project.cli(command)).toMatchObject({ exit: 0 })
    const written = [...(await runesIn(project))].flatMap(([id, runes]) => runes.slice(before.get(id)?.length))
    console.log(`${command[0]} with ${waiting} waiting runs: ${written.length} runes written`)
    expect(new Set(written.map((rune) => rune.session_id))).toEqual(new Set([session_id]))
    expect(written.filter(({ actor, trigger }) => actor === 'recovery' || trigger?.startsWith('restart.'))).toEqual([])
  }
})

const dying = `
import { agent, defineConfig, tool } from 'statewright'
import { ask, call, say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'
const die = tool({ name: 'die', input: z.object({}), approval: 'never', run: () => {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
} })
const main = agent({
  role: 'main', tools: [die],
  model: scriptedModel(({ messages }) => (messages.at(-1).content === 'die' ? call('die') : ask({ title: 'Which?', fields: [{ name: 'choice' }] }))),
})
`

test('F-28 recovery: an acting command leaves runs of a killed process to the next worker, unless it acts on them', async () => {
  const project = createProject(scratch.fresh(), '{ main }', dying)
  const launch = (...args: readonly string[]) =>
    spawnSync(process.execPath, [launcher, ...args, '--config', project.config], { encoding: 'utf8', timeout: 60_000 })
  expect(launch('run', 'wait').status).toBe(4)
  const interaction_id = idIn((await project.cli(['inbox'])).out, 'int')
  expect(launch('run', 'die').signal).toBe('SIGKILL')
  const all = [...(await runesIn(project)).values()].flat()
  const { session_id = '', run_id = '' } = all.findLast(({ kind }) => kind === 'run.submitted') ?? {}
  const triggers = async () =>
    (await runesIn(project)).get(session_id)?.flatMap((rune) => (rune.machine === 'run' ? [rune.trigger] : []))

  // A command about another session does not touch it.
  const before = await triggers()
  expect(await project.cli(['answer', interaction_id, '--reject'])).toMatchObject({ exit: 0 })
  expect(await triggers()).toEqual(before)
  expect(launch('run', 'wait').status).toBe(4)
  expect(await triggers()).toEqual(before)

  // A command about this one puts it back first, and then acts at once.
  expect(await project.cli(['cancel', run_id])).toMatchObject({ exit: 0 })
  expect(await triggers()).toEqual([...(before ?? []), 'restart.requeued', 'run.canceled'])
})

const askingAtWork = `
import { agent, defineConfig, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'
const order = tool({ name: 'order', input: z.object({}), irreversible: true, approval: 'never', 
  run: (_, { ask }) => ask({ title: 'Which size?', fields: [{ name: 'size', required: true }] }) })
const main = agent({ role: 'main', tools: [order], model: scriptedModel([call('order'), say('done')]) })
`

const killedWhileItAsks = `
import { createStatewright } from 'statewright'
import config from './statewright.config.ts'
const sw = await createStatewright(config)
await sw.runs.start({ agent: 'main', input: 'order' })
while ((await sw.inbox.list()).length === 0) await new Promise(setImmediate)
process.kill(process.pid, 'SIGKILL')
`

test('F-28 recovery: an answer for a tool that is gone with its process is refused, and says so', async () => {
  const project = createProject(scratch.fresh(), '{ main }', askingAtWork)
  const program = join(project.folder, 'program.ts')
  writeFileSync(program, importable(killedWhileItAsks))
  const killed = spawnSync(process.execPath, [program], { encoding: 'utf8', timeout: 60_000 })
  expect(killed.signal).toBe('SIGKILL')
  const interaction_id = idIn((await project.cli(['inbox'])).out, 'int')
  const answered = await project.cli(['answer', interaction_id, 'size=3'])
  expect(answered).toMatchObject({ exit: 6, err: expect.stringContaining('The tool that asked is gone') })
  const runes = [...(await runesIn(project)).values()].flat()
  expect(runes.some(({ kind }) => kind === 'interaction.answered')).toBe(false)
  expect(await project.cli(['inbox'])).toMatchObject({ out: expect.not.stringContaining(interaction_id) })
})
