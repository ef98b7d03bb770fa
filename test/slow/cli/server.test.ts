import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createProject, type Project } from '../../support/cli-project.ts'
import { runCli } from '../../support/run-cli.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const launcher = join(import.meta.dirname, '../../../bin/statewright.js')
const scratch = scratchFolder('cli-server')

/** A real server in a process of its own, on the project's store. */
async function serve({ config }: Project): Promise<{ url: string; stop: () => Promise<void> }> {
  const child = spawn(process.execPath, [launcher, 'serve', '--config', config, '--port', '0', '--quiet'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = Promise.withResolvers<string>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [, found] = / on (http:\S+)$/.exec(line) ?? []
    if (found !== undefined) url.resolve(found)
  })
  const over = once(child, 'exit')
  void over.then(() => url.reject(new Error('The server ended before it served.')))
  const stop = async () => {
    child.kill('SIGTERM')
    await over
  }
  return { url: await url.promise, stop }
}

describe('a server holds the store', () => {
  const project = createProject(scratch.fresh(), '{ obedient, slow }')
  const run = (input: string, setting = {}) => project.cli(['run', input, '--agent', 'obedient'], setting)
  let url: string
  let stop: () => Promise<void>
  beforeAll(async () => {
    const server = await serve(project)
    url = server.url
    stop = server.stop
  })
  afterAll(() => stop())

  /** The command as it would be typed on another machine: only the address, and the token in the environment. */
  const there = (args: readonly string[], setting = {}) => runCli([...args, '--server', url], setting)

  test('cli through a server: run streams, is asked and answered through the server', async () => {
    const { exit, out, err } = await run('note 7', { typed: () => 'y' })
    expect({ exit, out }).toEqual({ exit: 0, out: 'It is SUCCESS.' })
    expect(err).toContain('Approved by owner.')
  })

  test('cli through a server: streamed text arrives once', async () => {
    // It speaks as soon as someone listens: the first output came from the stream.
    const hush = join(project.folder, 'hush')
    writeFileSync(hush, '')
    const onPrinted = () => rmSync(hush, { force: true })
    const { out } = await project.cli(['run', 'speak', '--agent', 'slow', '--json'], { onPrinted })
    const heard = out.split('\n').map((line) => JSON.parse(line) as { type: string; delta?: { text: string } })
    const streamed = heard.flatMap(({ delta }) => delta?.text ?? []).join('')
    expect('one two three four five six').toContain(streamed)
    expect(streamed.length).toBeGreaterThan(5)
    expect(await project.cli(['run', 'speak', '--agent', 'slow'])).toMatchObject({ out: 'one two three four five six' })
  })

  test('run: a question that another client answers is withdrawn, and the run goes on', async () => {
    const elsewhere = Promise.withResolvers<void>()
    const ask = (_: string) => {
      void project.cli(['ps', '--waiting', '--json']).then(async ({ out }) => {
        const { items } = JSON.parse(out) as { items: { waiting_for: { interaction_id: string } }[] }
        await project.cli(['deny', items[0]?.waiting_for.interaction_id ?? '', '-m', 'from elsewhere', '--as', 'bob'])
        elsewhere.resolve()
      })
      return undefined
    }
    // The terminal gives nothing back before the question is taken back.
    const typed = (question: string) => ask(question)
    const { exit, err } = await run('refund 8', { typed, until: () => elsewhere.promise })
    expect(exit).toBe(0)
    expect(err).toContain('Denied: from elsewhere')
  })

  test('cli through a server: Ctrl-C interrupts the run on the server', async () => {
    const listeners: (() => void)[] = []
    const onInterrupt = (listener: () => void) => {
      listeners.push(listener)
      return () => {}
    }
    const typed = () => {
      for (const press of listeners) press()
      return undefined
    }
    expect(await run('refund 9', { typed, host: { onInterrupt } })).toMatchObject({ exit: 130 })
  })

  test('cli through a server: verify and export go through the server that holds the store; the bundle proves itself', async () => {
    expect(await run('hello')).toMatchObject({ exit: 0 })
    const held = ['--store', project.store]
    expect(await runCli(['verify', ...held])).toMatchObject({ exit: 0, out: expect.stringContaining('verified.') })
    const { session_id } = JSON.parse((await project.cli(['ps', '--json'])).out).items[0] as { session_id: string }
    const file = join(project.folder, 'session.ndjson')
    const exported = await runCli(['export', session_id.slice(0, -2), '-o', file, ...held])
    expect(exported).toMatchObject({ exit: 0, out: expect.stringMatching(/^ses_\w+: \d+ events written to /) })
    expect(await runCli(['verify', '--bundle', file])).toMatchObject({ exit: 0 })
    expect(await runCli(['export', 'ses_zz', '-o', file, ...held])).toMatchObject({ exit: 3 })
    const nowhere = join(project.folder, 'no', 'file')
    expect(await runCli(['export', session_id, '-o', nowhere, ...held])).toMatchObject({
      exit: 1,
      err: expect.stringContaining(`${nowhere} cannot be used: there is no such file or folder`),
    })
  })

  test('cli through a server: checkpoint, redact and archive go through it as well', async () => {
    const { out } = await run('a secret word')
    expect(out).toBe('You said: a secret word')
    const held = ['--store', project.store]
    const session = JSON.parse((await project.cli(['ps', '--json'])).out).items[0] as { session_id: string }
    const { session_id } = session
    const file = join(project.folder, 'checkpoints.ndjson')
    const all = await runCli(['checkpoint', '-o', file, ...held])
    expect(all).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/^\d+ checkpoints? added to .*, signed with the key/),
    })
    const one = await there(['checkpoint', session_id.slice(0, -2), ...held])
    expect(JSON.parse(one.out)).toMatchObject({ checkpoint: { session_id } })

    const redacted = await runCli(['redact', session_id, '3', '--reason', 'it was a secret', ...held])
    expect(redacted).toMatchObject({ exit: 0, out: `${session_id} event 3: its content is erased.` })
    expect(await project.cli(['close', session_id])).toMatchObject({ exit: 0 })
    expect(await runCli(['archive', session_id, ...held])).toMatchObject({ exit: 0, out: `${session_id} is archived.` })
    expect(await runCli(['verify', session_id, ...held])).toMatchObject({ exit: 0 })
    expect(await runCli(['rebuild', ...held])).toMatchObject({ exit: 7, err: expect.stringContaining(`at ${url}`) })
  })

  test('cli through a server: doctor reports that the server answers and holds the store', async () => {
    const { exit, out } = await there(['doctor', '--config', project.config])
    expect(exit).toBe(0)
    expect(out).toMatch(/ok +store .* is held by process \d+, a server at http:/)
    expect(out).toMatch(/ok +server +http:\S+ answers, with 2 agents/)
    const gone = await runCli(['doctor', '--config', project.config, '--server', 'http://127.0.0.1:9'])
    expect(gone).toMatchObject({ exit: 1, err: expect.stringContaining('for the server: statewright serve') })
  })

  test('cli through a server: a missing token, a wrong token and a missing server each have a sentence and an exit code', async () => {
    vi.stubEnv('STATEWRIGHT_TOKEN', 'swt_wrong')
    expect(await there(['ps'])).toMatchObject({ exit: 1, err: expect.stringContaining('token') })
    vi.unstubAllEnvs()
    expect(await there(['ps', '--store', `sqlite:${project.folder}/none.db`])).toMatchObject({
      exit: 1,
      err: expect.stringContaining('no token is set'),
    })
    vi.stubEnv('STATEWRIGHT_TOKEN', 'swt_any')
    expect(await runCli(['ps', '--server', 'http://127.0.0.1:9'])).toMatchObject({ exit: 7 })
    vi.unstubAllEnvs()
  })
})

test('cli through a server: the same commands say the same, directly and through a server', async () => {
  const project = createProject(scratch.fresh())
  const { url, stop } = await serve(project)
  await project.cli(['run', 'look 1'])
  await project.cli(['run', 'fail'])
  await project.cli(['run', 'refund 7'])
  const [first, ...rest] = JSON.parse((await project.cli(['ps', '--json'])).out).items as {
    session_id: string
    run_id: string
    waiting_for: { interaction_id: string } | null
  }[]
  const { session_id = '', run_id = '', waiting_for } = first ?? {}
  const others = rest.map((item) => item.session_id)
  const commands = [
    ['ps'],
    ['ps', '--failed'],
    ['ps', '--json'],
    ['inbox'],
    ['inbox', '--json'],
    ['inbox', waiting_for?.interaction_id ?? ''],
    ['approve', waiting_for?.interaction_id ?? ''],
    ['show', session_id],
    ['show', session_id, '--json'],
    ['show', run_id],
    ['show', run_id, '--events'],
    ['show', run_id, '--events', '--json'],
    ['show', 'ses_'],
    ['show', 'ses_zz'],
    ['timeline', session_id],
    ['timeline', session_id, '--json'],
    ['trace', run_id],
    ['trace', run_id, '--json'],
    ['memory', session_id],
    ['memory', session_id, '--json'],
    ['replay', session_id, '--at', '12'],
    ['replay', session_id, '--json'],
    ['replay', session_id, '--at', '9999'],
    ['watch', others[0] ?? '', '--json', '--nonsense'],
    ['verify', session_id],
    ['verify', '--json'],
  ]
  const places = ['--config', project.config]
  const through = []
  for (const args of commands)
    through.push(await runCli([...args, '--server', url, ...(args[0] === 'verify' ? [] : places)], inProject(project)))
  await stop()

  // WHEN no process holds the store, THEN the same is read from the file.
  for (const [i, args] of commands.entries()) {
    const place = args[0] === 'verify' ? ['--store', project.store] : places
    const direct = await runCli([...args, ...place], inProject(project))
    expect(stable(direct), args.join(' ')).toEqual(stable(through[i]))
  }
})

/** Verify has no config: where the token is follows from the store in the environment. */
function inProject({ store }: Project) {
  vi.stubEnv('STATEWRIGHT_STORE', store)
  return {}
}

/** Without what grows with the clock, and without how the command was typed. */
function stable(outcome: unknown): unknown {
  return JSON.parse(
    JSON.stringify(outcome)
      .replaceAll(/\d+ (ms|s|min)\b/g, 'SPAN')
      .replaceAll(/ {2,}/g, '  ')
      .replaceAll(/[█░· ]{30,}/g, 'BAR')
      .replaceAll(/(\\?"(?:duration_in_state_ms|total_ms)\\?": ?)\d+/g, '$10')
      .replaceAll(/ --server \S+?(?=[\\ "])/g, '')
      .replaceAll(/\[--server URL\]/g, ''),
  )
}
