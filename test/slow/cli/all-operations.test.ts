import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createProject, idIn, type Project } from '../../support/cli-project.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { startServerProcess } from '../../support/server-process.ts'

const scratch = scratchFolder('all-operations')

const sessionIn = async (project: Project) => idIn((await project.cli(['ps', '--json'])).out, 'ses')

async function json(project: Project, args: readonly string[]) {
  const { exit, out, err } = await project.cli([...args, '--json'])
  expect({ exit, err }, args.join(' ')).toEqual({ exit: 0, err: '' })
  return JSON.parse(out)
}

test('F-36 spawn and kill: an agent joins a session under another one, and both leave', async () => {
  const project = createProject(scratch.fresh())
  await project.cli(['run', 'hello'])
  const session_id = await sessionIn(project)
  const agents = async () => (await json(project, ['show', session_id])).agents as { agent_id: string; state: string }[]
  const [root] = await agents()
  const args = ['spawn', session_id, 'obedient', '--parent', root?.agent_id ?? '', '--budget', 'tool_calls=2']
  const { agent_id } = await json(project, args)
  expect(await agents()).toMatchObject([
    { state: 'idle' },
    { agent_id, state: 'idle', parent_id: root?.agent_id, budget: { tool_calls: 2 } },
  ])
  expect(await project.cli(['kill', root?.agent_id ?? '', '-m', 'done here'])).toMatchObject({ exit: 0 })
  expect((await agents()).map(({ state }) => state)).toEqual(['terminated', 'terminated'])
  expect((await project.cli(['show', session_id])).out).toContain('is terminated: done here.')
  expect(await project.cli(['kill', agent_id])).toMatchObject({ exit: 6 })
})

test('F-36 kill: an agent in a turn is refused, unless by force', async () => {
  const project = createProject(scratch.fresh())
  await project.cli(['run', 'note 7'])
  const [{ agent_id }] = (await json(project, ['show', await sessionIn(project)])).agents
  expect(await project.cli(['kill', agent_id])).toMatchObject({ exit: 6 })
  expect(await project.cli(['kill', agent_id, '--force'])).toMatchObject({ exit: 0 })
})

test('F-36 show: one execution has its effects and its moves; allow-again lets it be done once more', async () => {
  const project = createProject(scratch.fresh())
  const typed = (question: string) => /Type ([0-9a-f]{4}),/.exec(question)?.[1]
  await project.cli(['run', 'refund 7'], { typed })
  const session_id = await sessionIn(project)
  const execution_id = idIn((await project.cli(['timeline', session_id])).out, 'exe')
  const shown = await project.cli(['show', execution_id])
  expect(shown.out).toMatch(/^orders\.refund.* exe_/)
  expect(shown.out).toMatch(
    /completed for .*for the model: SUCCESS\ncannot be undone; has side effects; decided by human/,
  )
  expect(shown.out).toMatch(/running → completed +succeed +by /)
  const card = await json(project, ['show', execution_id.slice(0, 24)])
  expect(card).toMatchObject({ snapshot: { execution_id }, consequence: { result: { refunded: 7 } } })

  const unknown = await project.cli(['show', 'zz'])
  expect(unknown).toMatchObject({ exit: 3, err: 'There is no session, run or execution zz.' })

  // A second refund of the same order is not the same action again, unless someone allows it.
  const refused = await project.cli(['run', 'refund 7', '--session', session_id], { typed })
  expect(refused.out).not.toContain('SUCCESS')
  expect(await project.cli(['allow-again', execution_id])).toMatchObject({ exit: 0 })
  const again = await project.cli(['run', 'refund 7', '--session', session_id], { typed })
  expect(again).toMatchObject({ exit: 0, out: 'It is SUCCESS.' })
})

test('F-36 all operations: ps --runs, occupancy and show --conversation: runs, counts and the conversation of a run', async () => {
  const project = createProject(scratch.fresh())
  await project.cli(['run', 'hello'])
  await project.cli(['run', 'note 7'])
  const { items } = await json(project, ['ps', '--runs'])
  expect(items.map(({ status }: { status: string }) => status)).toEqual(['waiting_user', 'succeeded'])
  expect((await project.cli(['ps', '--runs', '--waiting'])).out).toMatch(/^run_\w+ +waiting_user .* obedient +note 7$/)
  expect((await project.cli(['occupancy'])).out).toMatch(/^run +waiting_user +1 +oldest /m)
  const said = await project.cli(['show', items[1].run_id, '--conversation'])
  const types = said.out.split('\n').map((line) => JSON.parse(line).type)
  expect(types).toContain('assistant.message.final')
  expect(await project.cli(['show', await sessionIn(project), '--conversation'])).toMatchObject({ exit: 2 })
})

test('F-36 run --reply-optional: a reply has a deadline, after which the agent goes on', async () => {
  const project = createProject(scratch.fresh(), '{ obedient }, settings: { replyTimeoutMs: 60_000 }')
  const { exit } = await project.cli(['run', 'form', '--reply-optional'])
  expect(exit).toBe(4)
  expect((await project.cli(['inbox'])).out).toMatch(/ ends in /)
  const run_id = idIn((await project.cli(['ps', '--json'])).out, 'run')
  expect(await json(project, ['show', run_id])).toMatchObject({ interactive_require_user_reply: false })
})

test('F-36 show: an answer that was given automatically is shown as such', async () => {
  const source = `
import { agent, defineConfig } from 'statewright'
import { ask, say, scriptedModel } from 'statewright/testing'
const main = agent({
  role: 'main',
  model: scriptedModel([ask({ title: 'Which colour?', fields: [{ name: 'colour', default: 'red' }] }), say('Done.')]),
})
`
  const project = createProject(scratch.fresh(), '{ main }', source)
  const line = 'Answered automatically, since an auto run asks no person (“Which colour?”): {"colour":"red"}'
  expect((await project.cli(['run', 'go', '--auto'])).err).toContain(line)
  expect((await project.cli(['show', await sessionIn(project)])).out).toContain(line)
})

test('F-36 serve --store: it serves the store that is named, not the one of the config', async () => {
  const project = createProject(scratch.fresh())
  const other = join(project.folder, 'other.db')
  const server = await startServerProcess(project.config, other, ['--port', '0', '--store', `sqlite:${other}`])
  const { json } = await server.ask('/api/runs', { body: { agent: 'obedient', input: 'hello' } })
  expect(json.run_id).toMatch(/^run_/)
  expect(existsSync(other)).toBe(true)
  expect(existsSync(join(project.folder, 'statewright.db'))).toBe(false)
})
