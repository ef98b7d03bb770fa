import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { importable } from '../../support/cli-project.ts'
import { eventually } from '../../support/eventually.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { asking } from '../../support/server.ts'

const scratch = scratchFolder('storage-failure')
const launcher = join(import.meta.dirname, '../../../bin/statewright.js')
const token = 'token-of-a-test-0123456789'

/** An agent that fills the disk, and goes on recording long outputs until nothing more can be recorded. */
const source = (store: string) => `
import { closeSync, openSync, writeSync } from 'node:fs'
import { agent, call, defineConfig, scriptedModel, tool } from 'statewright'
import { z } from 'zod'

const fill = tool({
  name: 'disk.fill', input: z.object({ i: z.number() }), approval: 'never',
  run: ({ i }) => {
    const filler = openSync('${store}.filler', 'a')
    try { for (;;) writeSync(filler, Buffer.alloc(65_536)) } catch {} finally { closeSync(filler) }
    return 'x'.repeat(50_000) + i
  },
})
const filling = agent({
  role: 'filling', tools: [fill], max_rounds: 1_000_000,
  model: scriptedModel((_, said) => call('disk.fill', { i: said })),
})
export default defineConfig({
  store: 'sqlite:${store}', agents: { filling },
  server: { tokens: [{ name: 'test', token: '${token}', scope: 'admin' }] },
})
`

/** The command in a process of its own, on a small file system of its own that goes with it. */
async function start(command: 'serve' | 'worker', isMounted: boolean) {
  const folder = scratch.fresh()
  const store = join(folder, 'data', 'statewright.db')
  const config = join(folder, 'statewright.config.ts')
  mkdirSync(join(folder, 'data'))
  writeFileSync(config, importable(source(store)))
  const mount = 'mount -t tmpfs -o size=10m tmpfs "$1" && shift && exec "$@"'
  const args = [launcher, command, '--config', config, ...(command === 'serve' ? ['--port', '0', '--quiet'] : [])]
  const child = isMounted
    ? spawn('unshare', ['-rm', 'sh', '-c', mount, 'sh', join(folder, 'data'), process.execPath, ...args])
    : spawn(process.execPath, args)
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (piece) => (out += piece))
  child.stderr.setEncoding('utf8').on('data', (piece) => (err += piece))
  const over = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await over
  })
  await eventually('it says that it is there', async () => (/Serving|Working/.test(out) ? true : undefined))
  const [url = ''] = /http:\S+/.exec(out) ?? []
  return { folder, store, over, child, said: () => ({ out, err }), ask: asking(url, false) }
}

const oneSentence = /^The store stopped after an error while writing \([^\n]+\)\. Whether [^\n]+\n$/

test('F-103 serve: on a full disk it says so once, stops serving and exits 8 within a few seconds', async () => {
  const { ask, over, said } = await start('serve', true)
  for (let i = 0; i < 3; i++)
    expect((await ask('/api/runs', { token, body: { agent: 'filling', input: 'go' } })).status).toBeLessThan(300)
  expect(await Promise.race([over, late(30_000)])).toBe(8)
  expect(said().err).toMatch(oneSentence)
  expect(said().err).toContain('the disk is full')
  await expect(ask('/healthz', { token: null })).rejects.toThrow()
})

test('F-103 serve: SIGTERM after a storage failure is obeyed', async () => {
  const { ask, child, over, said } = await start('serve', true)
  await ask('/api/runs', { token, body: { agent: 'filling', input: 'go' } })
  await eventually('it says so', async () => (oneSentence.test(said().err) ? true : undefined), 30_000)
  child.kill('SIGTERM')
  expect(await Promise.race([over, late(6_000)])).toBe(8)
  expect(said().err).toMatch(oneSentence)
})

test.each([
  ['serve', ''],
  ['serve', '-wal'],
  ['worker', ''],
] as const)(
  'F-103, F-111 %s: a store whose file (%s) is removed under it is noticed at rest, and it exits 8',
  async (command, end) => {
    const { ask, store, over, said, folder } = await start(command, false)
    rmSync(`${store}${end}`)
    if (command === 'serve') {
      const gone = async () => {
        const answer = await ask('/healthz', { token: null }).catch(() => ({ status: 0 }))
        return answer.status === 200 ? undefined : answer.status
      }
      expect([0, 503]).toContain(await eventually('it answers no more', gone, 10_000))
    }
    expect(await Promise.race([over, late(10_000)])).toBe(8)
    expect(said().err).toMatch(oneSentence)
    expect(said().err).toContain(`${store}${end} was removed or replaced while it was open`)
    // The lock is free: another process is refused for another reason, or gets in.
    const next = spawnSync(process.execPath, [launcher, 'ps', '--store', `sqlite:${store}`], {
      encoding: 'utf8',
      cwd: folder,
    })
    expect(next.stderr).not.toContain('is held by')
  },
)

const late = (ms: number) =>
  new Promise<string>((resolve) => setTimeout(() => resolve('it is still there'), ms).unref())
