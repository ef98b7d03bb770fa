import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createProject, idIn, type Project } from '../../support/cli-project.ts'
import { eventually } from '../../support/eventually.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const launcher = join(import.meta.dirname, '../../../bin/statewright.js')
const scratch = scratchFolder('cli-processes')

/** An agent that pays, irreversibly and without asking; the first payment kills the process once it is witnessed. */
const dying = `
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { agent, defineConfig, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'

const witness = new URL('./witness.log', import.meta.url)
const pay = tool({
  name: 'pay.send', input: z.object({}), irreversible: true, approval: 'never',
  run: () => {
    appendFileSync(witness, 'paid\\n', { flush: true })
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => {})
  },
})
const wait = tool({
  name: 'wait.long', input: z.object({}), approval: 'never',
  run: () => new Promise((resolve) => {
    appendFileSync(witness, 'waiting\\n', { flush: true })
    const looking = setInterval(() => {
      if (!existsSync(new URL('./go-on', import.meta.url))) return
      clearInterval(looking)
      resolve('waited')
    }, 20)
  }),
})
const payer = agent({
  role: 'payer', tools: [pay, wait],
  model: scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    if (last.role === 'tool') return say('It is ' + last.consequence.consequence_label + '.')
    return call(last.content === 'pay' ? 'pay.send' : 'wait.long', {})
  }),
})
`

const dyingProject = () => createProject(scratch.fresh(), '{ payer }', dying)
const witnessOf = ({ folder }: Project) => readFileSync(join(folder, 'witness.log'), 'utf8').trim().split('\n')

function launch(args: readonly string[]) {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [launcher, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  })
  return { exit: status ?? signal, out: stdout.trimEnd(), err: stderr.trimEnd() }
}

test('processes: after a kill during a payment, exit 4 until a person settles it; it is paid once', async () => {
  const project = dyingProject()
  // GIVEN a process that dies of its own payment
  expect(launch(['run', 'pay', '--config', project.config])).toMatchObject({ exit: 'SIGKILL' })
  const run_id = idIn((await project.cli(['ps', '--json'])).out, 'run')
  expect(JSON.parse((await project.cli(['show', run_id, '--json'])).out)).toMatchObject({ status: 'running' })

  // WHEN another one goes on with the run
  const recovered = launch(['watch', run_id, '--work', '--config', project.config])
  expect(recovered.exit).toBe(4)
  expect(recovered.err).toContain('it is not repeated')
  const interaction_id = idIn((await project.cli(['inbox'])).out, 'int')
  expect(await project.cli(['approve', interaction_id, '--yes'])).toMatchObject({ exit: 2 })
  expect(await project.cli(['settle', interaction_id])).toMatchObject({ exit: 2 })

  // THEN only a person settles it, and the payment is not made again
  const settle = ['settle', interaction_id, '--happened', '--result', '{"receipt":1}', '-m', 'seen at the bank']
  expect(await project.cli(settle)).toMatchObject({ exit: 0, out: `${interaction_id}: settled.` })
  const finished = launch(['watch', run_id, '--work', '--config', project.config])
  expect(finished).toMatchObject({ exit: 0, out: 'It is SUCCESS.' })
  expect(witnessOf(project)).toEqual(['paid'])
})

test('run --auto: an unknown outcome exits 8, and its question stays open', async () => {
  const project = dyingProject()
  expect(launch(['run', 'pay', '--auto', '--config', project.config])).toMatchObject({ exit: 'SIGKILL' })
  const run_id = idIn((await project.cli(['ps', '--json'])).out, 'run')
  const recovered = launch(['watch', run_id, '--work', '--config', project.config])
  expect(recovered).toMatchObject({ exit: 8, err: expect.stringContaining('OUTCOME_UNKNOWN') })
  expect((await project.cli(['inbox'])).out).toContain('settlement')
  expect(witnessOf(project)).toEqual(['paid'])
})

test.each([
  { signal: 'SIGINT', says: /Interrupting/, becomes: 'canceled' },
  { signal: 'SIGTERM', says: /Leaving/, becomes: 'queued' },
] as const)(
  'processes: $signal lets the tool finish, records its result, and exits 130',
  async ({ signal, becomes, ...heard }) => {
    const project = dyingProject()
    const child = spawn(process.execPath, [launcher, 'run', 'wait', '--config', project.config], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const over = once(child, 'exit')
    let said = ''
    child.stderr.on('data', (piece) => (said += piece))
    const says = (what: RegExp) => eventually(`${what}`, async () => what.test(said) || undefined, 60_000)
    await says(/It calls wait\.long/)
    await eventually('it waits', async () => existsSync(join(project.folder, 'witness.log')) || undefined)
    child.kill(signal)
    await says(heard.says)
    writeFileSync(join(project.folder, 'go-on'), '')
    expect(await over).toEqual([130, null])
    const session_id = idIn((await project.cli(['ps', '--json'])).out, 'ses')
    const { out } = await project.cli(['show', session_id, '--events'])
    expect(out).toMatch(/contract\.moved .* running → completed on succeed/)
    expect(out.match(/run\.moved .* → (\w+)/g)?.at(-1)).toMatch(new RegExp(`${becomes}$`))
  },
)

test('processes: colours need a terminal and no NO_COLOR; without a terminal nothing is asked', () => {
  const project = createProject(scratch.fresh())
  const { exit, out, err } = launch(['run', 'refund 7', '--config', project.config])
  expect(exit).toBe(4)
  expect(out + err).not.toContain('\u001b')
  const inTerminal = (env: Readonly<Record<string, string>>) =>
    spawnSync('script', ['-qec', `${process.execPath} ${launcher} ps --config ${project.config}`, '/dev/null'], {
      encoding: 'utf8',
      env: { ...process.env, TERM: 'xterm', ...env },
    }).stdout
  expect(inTerminal({ NO_COLOR: '' })).toContain('\u001b[33mwaiting_user')
  expect(inTerminal({ NO_COLOR: '1' })).not.toContain('\u001b')
})
