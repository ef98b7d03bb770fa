import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/app/load-config.ts'
import { openExisting } from '../../../src/app/open-store.ts'
import { createStatewright } from '../../../src/app/statewright.ts'
import type { Submission } from '../../../src/runtime/commands/submit.ts'
import { createProject, type Project } from '../../support/cli-project.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('cli-only-asked')

const team = `
import { agent, defineConfig, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
const model = scriptedModel(({ messages }) => say('You said: ' + messages.findLast(({ role }) => role === 'user').content))
const main = agent({ role: 'main', model })
const other = agent({ role: 'other', model })
const boss = agent({ role: 'boss', delegates: ['main'], model: scriptedModel([call('delegate.main', { task: 'help' }), say('Done.')]) })
`

const teamIn = (url?: string) => createProject(scratch.fresh(), '{ main, other, boss }', team, url)

/** Runs in the queue of a store that no process works on. */
async function queue(project: Project, ...submissions: readonly Submission[]) {
  const sw = await createStatewright({ ...(await loadConfig(project.config)), maxConcurrentRuns: 0 })
  try {
    const runs = []
    for (const submission of submissions) {
      const [first] = runs
      const { sessionId, runId } = await sw.runs.start(
        submission.sessionId === 'first' ? { ...submission, sessionId: first?.session_id ?? '' } : submission,
      )
      runs.push({ session_id: sessionId, run_id: runId })
    }
    return runs
  } finally {
    await sw.close()
  }
}

/** How many runes each session has. */
async function lengths({ store }: Project): Promise<ReadonlyMap<string, number>> {
  const { runelog } = await openExisting(store, 'look')
  const heads = (await runelog.sessionIds()).map(async (id) => [id, (await runelog.head(id))?.event_id ?? 0] as const)
  const found = new Map(await Promise.all(heads))
  await runelog.close()
  return found
}

const statusOf = async (project: Project, run_id = '') =>
  (JSON.parse((await project.cli(['show', run_id, '--json'])).out) as { status: string }).status

const hello = { agent: 'main', input: 'hello' }

test('working commands: run and watch carry out their own run, and no other run of the store', async () => {
  const project = teamIn()
  const [first, second] = await queue(project, hello, hello)
  const before = await lengths(project)

  const { exit, out } = await project.cli(['run', 'mine', '--agent', 'main'])
  expect({ exit, out }).toEqual({ exit: 0, out: 'You said: mine' })
  expect([...(await lengths(project))].filter(([id]) => before.has(id))).toEqual([...before])

  expect(await project.cli(['watch', first?.run_id ?? '', '--work'])).toMatchObject({ exit: 0 })
  expect(await statusOf(project, first?.run_id)).toBe('succeeded')
  expect((await lengths(project)).get(second?.session_id ?? '')).toBe(before.get(second?.session_id ?? ''))
  expect(await statusOf(project, second?.run_id)).toBe('queued')
})

test('working commands: a command that is refused starts nothing and writes nothing', async () => {
  const project = teamIn()
  await queue(project, hello)
  const before = await lengths(project)
  const refused = [
    ['run', 'x', '--agent', 'nobody'],
    ['run', 'x'],
    ['run', 'x', '--agent', 'main', '--session', 'ses_none'],
    ['run', 'x', '--agent', 'main', '--budget', 'tokens=many'],
    ['run', ' ', '--agent', 'main'],
    ['watch', 'run_none', '--work'],
    ['goal', 'x', '--plan', '/no/such/file'],
    ['goal', 'x', '--planner', 'nobody'],
    ['goal', 'watch', 'goal_none', '--work'],
  ]
  for (const command of refused) {
    const { exit, err } = await project.cli(command)
    expect([1, 2, 3], `${command.join(' ')}: ${err}`).toContain(exit)
    expect(await lengths(project), command.join(' ')).toEqual(before)
  }
})

test('working commands: a run whose agent is not configured here is refused, and stays as it is', async () => {
  const project = teamIn()
  const [queued] = await queue(project, { agent: 'other', input: 'hello' })
  const before = await lengths(project)
  const without = createProject(scratch.fresh(), '{ main }', team, project.store)
  const refused = await without.cli(['watch', queued?.run_id ?? '', '--work'])
  expect(refused).toMatchObject({ exit: 3, err: expect.stringContaining('other') })
  expect(await lengths(project)).toEqual(before)
})

test('working commands: a queued run gets the run before it and its tasks carried out, and nothing else', async () => {
  const project = teamIn()
  const inFirst = { sessionId: 'first' }
  const [ahead, asked, behind, beside] = await queue(
    project,
    hello,
    { ...hello, ...inFirst },
    { ...hello, ...inFirst },
    { agent: 'other', input: 'hello', ...inFirst },
  )
  expect(await project.cli(['watch', asked?.run_id ?? '', '--work'])).toMatchObject({ exit: 0 })
  expect(await statusOf(project, ahead?.run_id)).toBe('succeeded')
  expect(await statusOf(project, behind?.run_id)).toBe('queued')
  expect(await statusOf(project, beside?.run_id)).toBe('queued')

  const handsOn = await project.cli(['run', 'go', '--agent', 'boss', '--session', asked?.session_id ?? ''])
  expect(handsOn).toMatchObject({ exit: 0, out: expect.stringContaining('Done.') })
  expect(await statusOf(project, beside?.run_id)).toBe('queued')
})

test('working commands: on a shared store, run and watch carry out only their own run', async () => {
  const project = teamIn(await freshDatabase())
  const [first, second] = await queue(project, hello, hello)
  const mine = await project.cli(['run', 'mine', '--agent', 'main'])
  expect(mine).toMatchObject({ exit: 0, out: 'You said: mine' })
  expect(await project.cli(['watch', first?.run_id ?? '', '--work'])).toMatchObject({ exit: 0 })
  expect(await statusOf(project, first?.run_id)).toBe('succeeded')
  expect(await statusOf(project, second?.run_id)).toBe('queued')
})
