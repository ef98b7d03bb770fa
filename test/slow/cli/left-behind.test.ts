import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/app/load-config.ts'
import { createStatewright } from '../../../src/app/statewright.ts'
import { createProject, idIn, importable, type Project } from '../../support/cli-project.ts'
import { eventually } from '../../support/eventually.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { isProof } from '../../support/sampling.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('cli-left-behind')

const paying = `
import { agent, defineConfig, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'
const die = () => {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}
const pay = tool({ name: 'bank.pay', input: z.object({ cents: z.int() }), irreversible: true, approval: 'never', run: die })
const look = tool({ name: 'bank.look', input: z.object({}), readOnly: true, run: die })
const payer = agent({ role: 'payer', tools: [pay], model: scriptedModel([call('bank.pay', { cents: 7 }), say('Done.')]) })
const reader = agent({ role: 'reader', tools: [look], model: scriptedModel([call('bank.look'), say('Done.')]) })
`

/** A project whose process was killed in the middle of a tool. */
function killed(agent: string, url?: string): Project {
  const project = createProject(scratch.fresh(), '{ payer, reader }, settings: { leaseMs: 200 }', paying, url)
  const program = join(project.folder, 'program.ts')
  const source = `
import { createStatewright } from 'statewright'
import config from './statewright.config.ts'
const sw = await createStatewright(config)
await sw.runs.start({ agent: '${agent}', input: 'Go.' })
`
  writeFileSync(program, importable(source))
  const { signal } = spawnSync(process.execPath, [program], { encoding: 'utf8', timeout: 60_000 })
  expect(signal).toBe('SIGKILL')
  return project
}

async function whatIsThere(project: Project) {
  const { items } = JSON.parse((await project.cli(['ps', '--json'])).out) as { items: { event_id: number }[] }
  return items.map(({ event_id }) => event_id)
}

// On PostgreSQL it is shown once the lease of the killed process is over.
const stores = isProof ? ['sqlite', 'postgres'] : ['sqlite']

test.each(stores)(
  'looking on %s: inbox, ps and show name a killed call with an unknown outcome, and write nothing',
  async (store) => {
    const project = killed('payer', store === 'postgres' ? await freshDatabase() : undefined)
    const before = await whatIsThere(project)
    await eventually('it is shown', async () => (await project.cli(['inbox'])).out || undefined)
    const inbox = await project.cli(['inbox'])
    expect(inbox).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/^exe_\w+ {2}outcome unknown .*its process is gone: bank\.pay/),
    })
    expect(inbox.err).toMatch(/The process that called bank\.pay is gone, and whether it happened is unknown/)
    expect(inbox.err).toMatch(/statewright watch run_\w+ --work/)
    expect(inbox.err).not.toContain('Nothing waits')
    const { items, unsettled } = JSON.parse((await project.cli(['inbox', '--json'])).out)
    expect(items).toEqual([])
    expect(unsettled).toMatchObject([{ run_id: idIn(inbox.err, 'run'), irreversible: true }])

    expect((await project.cli(['ps'])).out).toMatch(
      /running .*Its process is gone, and the outcome of a call is unknown/,
    )
    expect((await project.cli(['ps', '--runs'])).out).toMatch(/running .*its process is gone/)
    const gone = 'Its process is gone, and the outcome of a call is unknown.'
    const work = /Next: statewright watch run_\w+ --work/
    const run = await project.cli(['show', idIn(inbox.err, 'run')])
    expect(run).toMatchObject({ out: expect.stringContaining(gone), err: expect.stringMatching(work) })
    const execution = await project.cli(['show', unsettled[0].execution_id])
    expect(execution).toMatchObject({ out: expect.stringContaining(gone), err: expect.stringMatching(work) })
    expect(execution.out).toContain('cannot be undone; its side effects are unknown')
    expect((await project.cli(['show', unsettled[0].session_id])).out).toContain('the outcome of a call is unknown')
    expect(await whatIsThere(project)).toEqual(before)

    // The same in the library, in a process that only gives commands
    const sw = await createStatewright({ ...(await loadConfig(project.config)), maxConcurrentRuns: 0 })
    expect(await sw.inbox.unsettled()).toMatchObject([{ execution_id: unsettled[0].execution_id, irreversible: true }])
    expect(await sw.runs.abandoned()).toMatchObject([{ run_id: unsettled[0].run_id }])
    await sw.close()
    expect(await whatIsThere(project)).toEqual(before)

    // WHEN a process works on it, what was shown becomes a question
    expect((await project.cli(['watch', idIn(inbox.err, 'run'), '--work'])).exit).toBe(4)
    const asked = JSON.parse((await project.cli(['inbox', '--json'])).out)
    expect(asked).toMatchObject({ items: [{ interaction_kind: 'settlement' }], unsettled: [] })
    expect((await project.cli(['ps', '--json'])).out).toMatch(/"abandoned": ?null/)
  },
)

test('abandoned calls: a call that may be repeated is left to the next worker, and no person is asked about it', async () => {
  const project = killed('reader')
  expect(await project.cli(['inbox'])).toMatchObject({ exit: 0, out: '', err: 'No question is open.' })
  const { out, err } = await project.cli(['ps'])
  expect(out).toMatch(/Its process is gone, and nothing carries it out/)
  expect(err).toMatch(/Next: statewright watch run_\w+ --work/)
})
