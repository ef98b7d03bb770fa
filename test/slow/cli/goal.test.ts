import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { createProject, type Project } from '../../support/cli-project.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('cli-goal')
let project: Project
let plan: string

const note = (id: string, ...depends_on: string[]) => ({ id, command: 'cmd_note', intent: `Do ${id}.`, depends_on })

beforeEach(() => {
  const folder = scratch.fresh()
  mkdirSync(join(folder, 'registry'))
  const registry = registryIn(join(folder, 'registry'))
  project = createProject(
    folder,
    `{ worker, reviewer, asker }, plans: { registry: ${JSON.stringify(registry)} }`,
    `import { agent, defineConfig } from 'statewright'
import { ask, say, scriptedModel } from 'statewright/testing'
const worker = agent({ role: 'worker', model: scriptedModel(() => say('Done.')) })
const finding = { severity: 'suggestion', category: 'style', title: 'Short', description: 'One word.', evidence: ['only'], task: 'only' }
const reviewer = agent({ role: 'critic', model: scriptedModel(() => say(JSON.stringify({ findings: [finding] }))) })
const asker = agent({ role: 'critic', model: scriptedModel([ask({ title: 'Which?', fields: [{ name: 'choice', required: true }] }), say('{"findings": []}')]) })`,
  )
  plan = join(folder, 'plan.json')
  writeFileSync(plan, JSON.stringify({ tasks: [note('first'), { ...note('second', 'first'), command: 'cmd_write' }] }))
})

test('goal: a goal waits for its plan, then for a review, and is met: each command says how to go on', async () => {
  const set = await project.cli(['goal', 'Write it down', '--plan', plan])
  expect(set.exit).toBe(4)
  const [, goal_id = ''] = /(goal_\w+)/.exec(set.out) ?? []
  expect(set.err).toContain(`Next: statewright goal approve ${goal_id} --config`)

  expect(await project.cli(['goal', 'approve', goal_id])).toMatchObject({ exit: 0 })
  // No process works on it: watching says so, and is not taken for interrupted.
  expect(await project.cli(['goal', 'watch', goal_id])).toMatchObject({
    exit: 7,
    err: expect.stringMatching(
      /^It is planning, and nothing carries it out\..*\nNext: statewright goal watch goal_\w+ --work/,
    ),
  })
  expect((await project.cli(['goal', 'show', goal_id])).err).toContain(`goal watch ${goal_id} --work`)
  const watched = await project.cli(['goal', 'watch', goal_id.slice(5, 16), '--work'])
  expect(watched.exit).toBe(4)
  expect(watched.out).toMatch(/✓ first {2}completed {2}worker/)
  expect(watched.err).toMatch(/goal approve goal_\w+ --task node_review_architecture/)
  const blocked = await project.cli(['goal', 'list'])
  expect(blocked.out).toMatch(/goal_\w+ {2}blocked {2}1\/3 {2}Write it down/)

  const review = ['goal', 'approve', goal_id, '--task', 'node_review_architecture', '-m', 'fine']
  expect((await project.cli(review)).exit).toBe(0)
  const met = await project.cli(['goal', 'watch', goal_id, '--work'])
  expect(met.exit).toBe(0)
  const shown = await project.cli(['goal', 'show', goal_id])
  expect(shown.out).toMatch(/goal met {2}Write it down/)
  expect(shown.out).toMatch(/✓ {2}second +worker +completed {2}after first, node_review_architecture.*“Done\.”/)
  expect((await project.cli(['goal', 'cancel', goal_id])).exit).toBe(6)
})

test('goal --auto: does not ask for the plan; a stopped goal exits 1; --json prints JSON', async () => {
  writeFileSync(plan, JSON.stringify({ tasks: [note('only')] }))
  const done = await project.cli(['goal', 'Write it down', '--plan', plan, '--auto', '--json'])
  expect(done.exit).toBe(0)
  const reports = done.out.split('\n').map((line) => JSON.parse(line) as { state: string })
  expect(reports.at(-1)).toMatchObject({ state: 'goal_met' })
  const spent = await project.cli(['goal', 'Write it down', '--plan', plan, '--auto', '--tokens', '0'])
  expect(spent.exit).toBe(1)
  expect(spent.out).toContain('of 0 tokens')
})

test('goal watch: a question of the critic does not block it, and watching the run of the critic shows nothing', async () => {
  writeFileSync(plan, JSON.stringify({ tasks: [note('only')] }))
  const asked = await project.cli(['goal', 'Write it down', '--plan', plan, '--auto', '--critic', 'asker', '--json'])
  expect(asked.exit).toBe(4)
  const report = JSON.parse(asked.out.split('\n').at(-1) ?? '') as { state: string; waits_for: { run_id: string }[] }
  expect(report).toMatchObject({ state: 'reviewing', waits_for: [{ interaction_kind: 'ecs' }] })
  const watched = await project.cli(['watch', report.waits_for[0]?.run_id ?? ''])
  expect(watched.exit).toBe(0)
  expect(watched.out + watched.err).toContain('is internal: nothing of it is shown here. It is waiting_user.')
})

test('goal: a plan is rejected with another one; a goal without plan or planner, and options of other verbs, are refused', async () => {
  const set = await project.cli(['goal', 'Write it down', '--plan', plan])
  const [, goal_id = ''] = /(goal_\w+)/.exec(set.out) ?? []
  writeFileSync(plan, JSON.stringify({ tasks: [note('other')] }))
  expect((await project.cli(['goal', 'reject', goal_id, '-m', 'shorter', '--plan', plan])).exit).toBe(0)
  const again = await project.cli(['goal', 'watch', goal_id, '--work'])
  expect(again).toMatchObject({ exit: 4, out: expect.stringContaining('other') })
  expect((await project.cli(['goal', 'cancel', goal_id, '-m', 'enough'])).out).toContain('is stopped')

  expect(await project.cli(['goal', 'Nothing'])).toMatchObject({
    exit: 1,
    err: expect.stringContaining('neither a plan nor a planner'),
  })
  expect(await project.cli(['goal', 'show', goal_id, '--auto'])).toMatchObject({ exit: 2 })
  expect((await project.cli(['goal', 'show', 'goal_none'])).exit).toBe(3)
})

test('goal: review shows the findings of the critic', async () => {
  writeFileSync(plan, JSON.stringify({ tasks: [note('only')] }))
  const set = await project.cli(['goal', 'Write it down', '--plan', plan, '--critic', 'reviewer'])
  const [, goal_id = ''] = /(goal_\w+)/.exec(set.out) ?? []
  expect(await project.cli(['goal', 'critique', goal_id])).toMatchObject({
    exit: 0,
    err: expect.stringContaining('It has not been reviewed yet.'),
  })
  await project.cli(['goal', 'approve', goal_id])
  expect((await project.cli(['goal', 'watch', goal_id, '--work'])).exit).toBe(0)
  const found = await project.cli(['goal', 'critique', goal_id])
  expect(found.out).toMatch(
    /^review 1 {2}pln_\w+\n {2}suggestion {2}style {2}Short {2}\(only\)\n {4}One word\.\n {4}Evidence: only/,
  )
  const { out } = await project.cli(['goal', 'critique', goal_id, '--json'])
  expect(JSON.parse(out)).toMatchObject({
    goal_id,
    critiques: [{ iteration: 1, findings: [{ severity: 'suggestion' }] }],
  })
})

test('goal: a goal whose session is suspended ends the command with exit 4 and names the command that resumes it', async () => {
  const folder = scratch.fresh()
  mkdirSync(join(folder, 'registry'))
  const registry = registryIn(join(folder, 'registry'))
  const broken = createProject(
    folder,
    `{ worker }, settings: { errorThreshold: 1 }, plans: { registry: ${JSON.stringify(registry)} }`,
    `import { agent, defineConfig } from 'statewright'
import { breakOff, scriptedModel } from 'statewright/testing'
const worker = agent({ role: 'worker', model: scriptedModel(() => breakOff('down')) })`,
  )
  const set = await broken.cli(['goal', 'Write it down', '--plan', plan, '--auto'])
  expect(set.exit).toBe(4)
  expect(set.out).toMatch(/held up {2}Its session ses_\w+ is suspended: 1 turn errors/)
  expect(set.err).toMatch(/statewright resume ses_\w+ --config/)
  const [goal_id = ''] = /goal_\w+/.exec(set.out) ?? []
  expect((await broken.cli(['goal', 'show', goal_id])).out).toContain('held up')
})

test('goal watch --work: it works on its goal and on no other goal of the store', async () => {
  writeFileSync(plan, JSON.stringify({ tasks: [note('only')] }))
  const start = async () => {
    const [id = ''] = /goal_\w+/.exec((await project.cli(['goal', 'Write it down', '--plan', plan])).out) ?? []
    expect((await project.cli(['goal', 'approve', id])).exit).toBe(0)
    return id
  }
  const [mine, other] = [await start(), await start()]
  const standing = async () => (await project.cli(['goal', 'show', other])).out
  const before = await standing()
  expect((await project.cli(['goal', 'watch', mine, '--work'])).exit).toBe(0)
  expect(await standing()).toBe(before)
  expect((await project.cli(['goal', 'watch', other, '--work'])).exit).toBe(0)
})
