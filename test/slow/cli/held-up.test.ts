import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/app/load-config.ts'
import { createStatewright } from '../../../src/app/statewright.ts'
import { sessionMachine } from '../../../src/machines/session.ts'
import { createProject, idIn, type Project } from '../../support/cli-project.ts'
import { runCli } from '../../support/run-cli.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('held-up')

/** A session of the obedient agent whose first run waits for an approval. */
async function waiting(project: Project) {
  const { err } = await project.cli(['run', 'note 7'])
  const { items } = JSON.parse((await project.cli(['ps', '--json'])).out)
  const [{ session_id, run_id, waiting_for }] = items
  return { session_id, run_id, interaction_id: waiting_for.interaction_id as string, err }
}

const runsIn = async (project: Project, session_id: string) =>
  JSON.parse((await project.cli(['show', session_id, '--json'])).out).runs as { status: string; run_id: string }[]

test('F-29 run --session: behind a run that waits, nothing is submitted, and it says whom to answer', async () => {
  const project = createProject(scratch.fresh())
  const { session_id, run_id, interaction_id } = await waiting(project)
  for (const _ of [1, 2]) {
    const { exit, out, err } = await project.cli(['run', 'hello', '--session', session_id])
    expect({ exit, out }).toEqual({ exit: 4, out: '' })
    expect(err).toContain(`Its agent works on ${run_id} first, which waits for an answer. Nothing was submitted.`)
    expect(err).toContain(`Next: statewright inbox ${interaction_id}`)
  }
  expect(await runsIn(project, session_id)).toHaveLength(1)
})

test('F-29 run --session: at a terminal the question in the way is asked first, then the run goes on', async () => {
  const project = createProject(scratch.fresh())
  const { session_id, run_id } = await waiting(project)
  const { exit, out, err } = await project.cli(['run', 'hello', '--session', session_id], { typed: () => 'y' })
  expect({ exit, out }).toEqual({ exit: 0, out: 'You said: hello' })
  expect(err).toContain(`Its agent works on ${run_id} first, which waits for an answer.`)
})

test('F-29 run --session: a paused session exits 4 and names resume; nothing is submitted', async () => {
  const project = createProject(scratch.fresh())
  await project.cli(['run', 'hello'])
  const session_id = idIn((await project.cli(['ps', '--json'])).out, 'ses')
  await project.cli(['pause', session_id])
  const { exit, err } = await project.cli(['run', 'hello', '--session', session_id])
  expect(exit).toBe(4)
  expect(err).toContain(`Its session ${session_id} is paused: ${sessionMachine.states.paused.meaning}`)
  expect(err).toContain(`Nothing was submitted.\nNext: statewright resume ${session_id}`)
  expect(await runsIn(project, session_id)).toHaveLength(1)
})

test('F-29 run: a session that is suspended meanwhile ends the wait with exit 4 and its reason', async () => {
  const project = createProject(scratch.fresh())
  const { exit, err } = await project.cli(['run', 'look 7', '--session-budget', 'tool_calls=0'])
  expect(exit).toBe(4)
  expect(err).toMatch(/Its session ses_\w+ is suspended: The session has used up its budget/)
  expect(err).toMatch(/Next: statewright show ses_\w+ .*\n {6}statewright resume ses_\w+ /)
  const session_id = idIn(err, 'ses')
  const again = await project.cli(['run', 'hello', '--session', session_id])
  expect(again).toMatchObject({ exit: 4, err: expect.stringContaining('takes no new work') })
  expect(await runsIn(project, session_id)).toHaveLength(1)
})

/** A parent that only waits is let go at once. */
const team = '{ lead, scribe }, settings: { cancelGraceMs: 10 }'

const delegating = `
import { agent, defineConfig, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'

const note = tool({ name: 'notes.write', input: z.object({}), approval: 'always', run: () => 'noted' })
const scribe = agent({ role: 'scribe', tools: [note], model: scriptedModel([call('notes.write', {}), say('Written.')]) })
const lead = agent({
  role: 'lead', delegates: ['scribe'], model: scriptedModel([call('delegate.scribe', { task: 'A note.' }), say('Done.')]),
})
`

test('F-29 run: the question of a task that was handed on ends the wait with exit 4, also when it is watched again', async () => {
  const project = createProject(scratch.fresh(), team, delegating)
  const { exit, err } = await project.cli(['run', 'Go.', '--agent', 'lead'])
  expect(exit).toBe(4)
  const interaction_id = idIn(err, 'int')
  expect(err).toContain(`Next: statewright inbox ${interaction_id}`)
  const run_id = idIn(err, 'run')
  const again = await project.cli(['watch', run_id, '--work'])
  expect(again).toMatchObject({ exit: 4, err: expect.stringContaining(`statewright inbox ${interaction_id}`) })
  expect(await project.cli(['approve', interaction_id, '--yes'])).toMatchObject({ exit: 0 })
  expect(await project.cli(['watch', run_id, '--work'])).toMatchObject({ exit: 0, out: 'Done.' })
})

test('F-29 run: at a terminal the question of a task that was handed on is asked', async () => {
  const project = createProject(scratch.fresh(), team, delegating)
  const asked: string[] = []
  const typed = (question: string) => {
    asked.push(question)
    return 'y'
  }
  expect(await project.cli(['run', 'Go.', '--agent', 'lead'], { typed })).toMatchObject({ exit: 0, out: 'Done.' })
  expect(asked).toHaveLength(1)
})

test('F-36 resume: a session suspended by its budget needs higher limits, and goes on with them', async () => {
  const project = createProject(scratch.fresh())
  const { err } = await project.cli(['run', 'look 7', '--session-budget', 'tool_calls=0'])
  const session_id = idIn(err, 'ses')
  const bare = await project.cli(['resume', session_id])
  expect(bare).toMatchObject({ exit: 2, err: expect.stringContaining('Name higher limits with --budget.') })
  const low = await project.cli(['resume', session_id, '--budget', 'tool_calls=0'])
  expect(low).toMatchObject({ exit: 2, err: expect.stringContaining('of 0 tool_calls it has used 0') })
  const back = await project.cli(['resume', session_id, '--budget', 'tool_calls=5', '-m', 'worth it'])
  expect(back).toMatchObject({ exit: 0, out: `${session_id} is active.` })
  expect((await project.cli(['show', session_id])).out).toContain('no longer suspended: worth it.')
  const { run_id } = (await runsIn(project, session_id))[0] ?? { run_id: '' }
  expect(await project.cli(['watch', run_id, '--work'])).toMatchObject({ exit: 0 })
})

test('F-36 resume: a session suspended by errors is reset, and -m is recorded for a paused one', async () => {
  const project = createProject(scratch.fresh())
  await project.cli(['run', 'fail'])
  const session_id = idIn((await project.cli(['ps', '--json'])).out, 'ses')
  for (const _ of [1, 2, 3, 4]) await project.cli(['run', 'fail', '--session', session_id])
  const stands = async () => JSON.parse((await project.cli(['show', session_id, '--json'])).out)
  expect(await stands()).toMatchObject({ state: 'suspended', suspension: { by: 'errors' } })
  expect(await project.cli(['resume', session_id, '-m', 'the model is up'])).toMatchObject({ exit: 0 })
  expect(await stands()).toMatchObject({ state: 'active', suspension: null })
  expect((await project.cli(['show', session_id])).out).toContain('no longer suspended: the model is up.')

  await project.cli(['pause', session_id])
  await project.cli(['resume', session_id, '-m', 'back from lunch'])
  expect((await project.cli(['show', session_id])).out).toContain('The session goes on: back from lunch.')
  const wrong = await project.cli(['resume', session_id, '--budget', 'tokens=5'])
  expect(wrong).toMatchObject({ exit: 2, err: expect.stringContaining('It is active; a larger budget is for') })
})

test.each(['tokens', 'tokens=-1', 'tokens=1.5', 'coins=3', 'tokens=1,tokens=2', 'tokens=1e3'])(
  'F-36 --budget: %j is refused, and the limits are named',
  async (given) => {
    const { exit, err } = await createProject(scratch.fresh()).cli(['run', 'hello', '--budget', given])
    expect(exit).toBe(2)
    expect(err).toContain('--budget takes LIMIT=NUMBER, several separated by commas: tokens, tool_calls,')
  },
)

test('F-36 run --json: a refusal is the fault as JSON on standard error, also where a person has to act first', async () => {
  const project = createProject(scratch.fresh())
  const { session_id } = await waiting(project)
  const behind = await project.cli(['run', 'hello', '--session', session_id, '--json'])
  expect(behind).toMatchObject({ exit: 4, out: '' })
  expect(JSON.parse(behind.err)).toMatchObject({ code: 'session_waits', details: { session_id } })
  await project.cli(['pause', session_id])
  const paused = await project.cli(['run', 'hello', '--session', session_id, '--json'])
  expect(paused).toMatchObject({ exit: 4, out: '' })
  expect(JSON.parse(paused.err)).toMatchObject({ code: 'session_waits', message: expect.stringContaining('is paused') })
})

test('F-36 watch: a queued run that no process carries out exits 7, and 4 where a person has to act', async () => {
  const project = createProject(scratch.fresh())
  const sw = await createStatewright({ ...(await loadConfig(project.config)), maxConcurrentRuns: 0 })
  const { runId, sessionId } = await sw.runs.start({ agent: 'obedient', input: 'hello' })
  await sw.close()
  const watched = await project.cli(['watch', runId])
  expect(watched).toMatchObject({ exit: 7, err: expect.stringContaining('nothing carries it out') })
  expect(await project.cli(['watch', sessionId])).toMatchObject({ exit: 7 })
  await project.cli(['pause', sessionId])
  expect(await project.cli(['watch', runId])).toMatchObject({ exit: 4 })
  expect(await project.cli(['watch', sessionId])).toMatchObject({ exit: 4 })
})

test('F-36 show and plan verify: an option that does not apply and a folder that does not exist are refused', async () => {
  const project = createProject(scratch.fresh())
  const execution_id = idIn((await project.cli(['run', 'look 7', '--json'])).out, 'exe')
  for (const option of ['--graph', '--events'])
    expect(await project.cli(['show', execution_id, option])).toMatchObject({
      exit: 2,
      err: expect.stringContaining('are of a session or a run'),
    })
  expect(await runCli(['plan', 'verify', 'nosuch'])).toMatchObject({ exit: 3, err: 'There is no folder nosuch.' })
})
