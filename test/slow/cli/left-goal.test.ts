import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/app/load-config.ts'
import { createStatewright } from '../../../src/app/statewright.ts'
import { createProject, idIn, importable } from '../../support/cli-project.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('cli-left-goal')

const source = `
import { agent, defineConfig, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'
const die = () => {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}
const pay = tool({ name: 'shop.pay', input: z.object({ cents: z.number() }), irreversible: true, approval: 'never', run: die })
const worker = agent({ role: 'worker', tools: [pay], model: scriptedModel([call('shop.pay', { cents: 7 }), say('Done.')]) })
`

test('goal commands: after a kill, show, list and watch report the lost process, and cancel names the open settlement', async () => {
  const folder = scratch.fresh()
  mkdirSync(join(folder, 'registry'))
  const registry = registryIn(join(folder, 'registry'))
  const project = createProject(folder, `{ worker }, plans: { registry: ${JSON.stringify(registry)} }`, source)
  const plan = { tasks: [{ id: 'tp', command: 'cmd_pay', intent: 'Pay.', owner: 'worker', depends_on: [] }] }
  const program = join(folder, 'program.ts')
  const paying = `
import { createStatewright } from 'statewright'
import config from './statewright.config.ts'
const sw = await createStatewright(config)
const { goalId } = await sw.goals.start({ goal: 'Pay', auto: true, plan: ${JSON.stringify(plan)} })
console.log(goalId)
`
  writeFileSync(program, importable(paying))
  const { signal, stdout } = spawnSync(process.execPath, [program], { encoding: 'utf8', timeout: 60_000 })
  expect(signal).toBe('SIGKILL')
  const goal_id = idIn(stdout, 'goal')

  const gone = 'Its process is gone, and the outcome of a call is unknown.'
  const shown = await project.cli(['goal', 'show', goal_id])
  expect(shown.out).toContain(`${gone} Start a worker or a server, or watch goal ${goal_id} with --work.`)
  expect(shown.err).toContain(`Next: statewright goal watch ${goal_id} --work`)
  expect((await project.cli(['goal', 'list'])).out).toMatch(/executing .*Its process is gone/)
  const json = async () => JSON.parse((await project.cli(['goal', 'show', goal_id, '--json'])).out)
  expect(await json()).toMatchObject({ state: 'executing', abandoned: { unsettled: 1 } })

  // The same in the library, in a process that only gives commands
  const sw = await createStatewright({ ...(await loadConfig(project.config)), maxConcurrentRuns: 0 })
  expect(await sw.goals.show(goal_id)).toMatchObject({ abandoned: { unsettled: 1 } })
  expect(await sw.goals.list()).toMatchObject([{ abandoned: { unsettled: 1 } }])
  await sw.close()

  const watched = await project.cli(['goal', 'watch', goal_id])
  expect(watched).toMatchObject({ exit: 7, err: expect.stringMatching(/It is executing, and nothing carries it out/) })

  const cancelled = await project.cli(['goal', 'cancel', goal_id])
  expect(cancelled).toMatchObject({ exit: 0, err: expect.stringMatching(/Next: statewright settle int_/) })
  const int_id = idIn(cancelled.err, 'int')
  expect(cancelled.out).toMatch(new RegExp(`is stopped\\.\n {2}waits {2}${int_id} .*whether shop\\.pay happened`))
  const over = await project.cli(['goal', 'show', goal_id])
  expect(over).toMatchObject({ out: expect.stringContaining(int_id), err: expect.stringContaining(`settle ${int_id}`) })
  expect(await json()).toMatchObject({ state: 'stopped', abandoned: null, waits_for: [{ interaction_id: int_id }] })
})
