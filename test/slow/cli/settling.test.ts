import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createProject, idIn, importable } from '../../support/cli-project.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('cli-settling')

/** "fail" leaves an outcome unknown, "die" does so and kills the process. */
const paying = `
import { agent, defineConfig, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'
const input = z.object({})
const fail = tool({ name: 'fail', input, irreversible: true, approval: 'never', run: () => { throw new Error('no answer') } })
const die = tool({ name: 'die', input, irreversible: true, approval: 'never', run: () => {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
} })
const payer = agent({
  role: 'payer', tools: [fail, die],
  model: scriptedModel(({ messages }) => (messages.at(-1).role === 'user' ? call(messages.at(-1).content) : say('Done.'))),
})
`

test('settle: --leave says that the run ends as failed and that the question comes back under another id', async () => {
  const project = createProject(scratch.fresh(), '{ payer }', paying)
  expect(await project.cli(['run', 'fail'])).toMatchObject({ exit: 4 })
  const interaction_id = idIn((await project.cli(['inbox'])).out, 'int')
  const run_id = idIn((await project.cli(['ps', '--json'])).out, 'run')

  const ends = 'the run ends as failed, and the question is asked again under another id'
  expect((await project.cli(['settle', '--help'])).out).toContain(`--leave           you do not know; ${ends}`)
  const left = await project.cli(['settle', interaction_id, '--leave'])
  expect(left).toMatchObject({ exit: 0, out: `${interaction_id}: not settled; ${ends}.` })

  expect(await project.cli(['watch', run_id, '--work'])).toMatchObject({
    exit: 8,
    err: expect.stringContaining('OUTCOME_UNKNOWN'),
  })
  const again = idIn((await project.cli(['inbox'])).out, 'int')
  expect(again).not.toBe(interaction_id)
  // The refusal names the flags that one would type.
  expect(await project.cli(['settle', again, '--leave'])).toMatchObject({
    err: expect.stringContaining(`statewright settle ${again} --happened or --did-not-happen`),
  })
  expect(await project.cli(['settle', again, '--did-not-happen'])).toMatchObject({ out: `${again}: settled.` })
})

test('cancel: says how the run of a killed process stands, and names the question about its action', async () => {
  const project = createProject(scratch.fresh(), '{ payer }', paying)
  const program = join(project.folder, 'program.ts')
  const source = `
import { createStatewright } from 'statewright'
import config from './statewright.config.ts'
const sw = await createStatewright(config)
await sw.runs.start({ agent: 'payer', input: 'die' })
`
  writeFileSync(program, importable(source))
  expect(spawnSync(process.execPath, [program], { encoding: 'utf8', timeout: 60_000 }).signal).toBe('SIGKILL')
  const run_id = idIn((await project.cli(['ps', '--json'])).out, 'run')

  const cancelled = await project.cli(['cancel', run_id])
  const interaction_id = idIn((await project.cli(['inbox'])).out, 'int')
  expect(cancelled).toMatchObject({ exit: 0, out: `${run_id} is canceled.` })
  expect(cancelled.err).toContain(`inbox ${interaction_id}`)
  expect(cancelled.err).toContain('then settle it')
})
