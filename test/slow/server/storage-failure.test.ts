import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { importable } from '../../support/cli-project.ts'
import { concurrently, whenFinished } from '../../support/concurrent.ts'
import { eventually } from '../../support/eventually.ts'
import { withOwnMounts } from '../../support/own-mounts.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { asking } from '../../support/server.ts'

const scratch = scratchFolder('storage-failure')
const launcher = join(import.meta.dirname, '../../../bin/statewright.js')
const token = 'token-of-a-test-0123456789'

/**
 * One agent fills the disk, and goes on recording long outputs until nothing more can be recorded. The tool of the other
 * never ends, so that the process takes a while to stop.
 */
const source = (store: string) => `
import { closeSync, openSync, writeSync } from 'node:fs'
import { agent, defineConfig, tool } from 'statewright'
import { call, scriptedModel } from 'statewright/testing'
import { z } from 'zod'

const fill = tool({
  name: 'disk.fill', input: z.object({ i: z.number() }), approval: 'never',
  run: ({ i }) => {
    const filler = openSync('${store}.filler', 'a')
    try { for (;;) writeSync(filler, Buffer.alloc(65_536)) } catch {} finally { closeSync(filler) }
    return 'x'.repeat(50_000) + i
  },
})
const stuck = tool({ name: 'stuck.wait', input: z.object({}), readOnly: true, run: () => (console.log('at work'), new Promise(() => {})) })
const waiting = agent({ role: 'waiting', tools: [stuck], model: scriptedModel(() => call('stuck.wait', {})) })
const filling = agent({
  role: 'filling', tools: [fill], maxRounds: 1_000_000,
  model: scriptedModel((_, said) => call('disk.fill', { i: said })),
})
export default defineConfig({
  store: 'sqlite:${store}', agents: { filling, waiting },
  server: { tokens: [{ name: 'test', token: '${token}', scope: 'admin' }] },
})
`

/** Ways to leave a process little room: a small file system of its own that goes with it, or a limit of file sizes. */
const rooms = {
  mount: [...withOwnMounts, 'mount -t tmpfs -o size=10m tmpfs "$1" && shift && exec "$@"', 'sh'],
  limit: ['sh', '-c', 'ulimit -f 4096 && shift && exec "$@"', 'sh'],
  plenty: ['sh', '-c', 'shift && exec "$@"', 'sh'],
} as const

/** The command in a process of its own. */
async function start(command: 'serve' | 'worker', room: keyof typeof rooms) {
  const folder = scratch.fresh()
  const store = join(folder, 'data', 'statewright.db')
  const config = join(folder, 'statewright.config.ts')
  mkdirSync(join(folder, 'data'))
  writeFileSync(config, importable(source(store)))
  const args = [launcher, command, '--config', config, ...(command === 'serve' ? ['--port', '0', '--quiet'] : [])]
  const [shell, ...before] = rooms[room]
  const child = spawn(shell, [...before, join(folder, 'data'), process.execPath, ...args])
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (piece) => (out += piece))
  child.stderr.setEncoding('utf8').on('data', (piece) => (err += piece))
  const over = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  whenFinished(async () => {
    child.kill('SIGKILL')
    await over
  })
  await eventually('it says that it is there', async () => (/Serving|Working/.test(out) ? true : undefined))
  const [url = ''] = /http:\S+/.exec(out) ?? []
  return { folder, store, over, child, said: () => ({ out, err }), ask: asking(url, false) }
}

const oneSentence = /^The store stopped after an error while writing \([^\n]+\)\. Whether [^\n]+\n$/

const failures = [
  ['a full disk', 'mount', 'the disk is full'],
  ['a limit of file sizes', 'limit', 'disk I/O error'],
] as const

for (const [what, room, cause] of failures)
  concurrently(`F-103 serve: at ${what} it says so once, stops serving and exits 8 within a few seconds`, async () => {
    const { ask, over, said } = await start('serve', room)
    const submit = () => ask('/api/runs', { token, body: { agent: 'filling', input: 'go' } })
    expect((await submit()).status).toBeLessThan(300)
    // The disk may be full already, and the server gone.
    await Promise.allSettled([submit(), submit()])
    expect(await Promise.race([over, late(30_000)])).toBe(8)
    expect(said().err).toMatch(oneSentence)
    expect(said().err).toContain(cause)
    await expect(ask('/healthz', { token: null })).rejects.toThrow()
  })

concurrently('F-103 serve: SIGTERM after a storage failure is obeyed', async () => {
  const { ask, child, over, said } = await start('serve', 'mount')
  await ask('/api/runs', { token, body: { agent: 'filling', input: 'go' } })
  await eventually('it says so', async () => (oneSentence.test(said().err) ? true : undefined), 30_000)
  child.kill('SIGTERM')
  expect(await Promise.race([over, late(6_000)])).toBe(8)
  expect(said().err).toMatch(oneSentence)
})

concurrently('F-103 serve: a storage failure while it stops ends it with one sentence and exit 8', async () => {
  // GIVEN a server that takes a while to stop
  const { ask, child, store, over, said } = await start('serve', 'plenty')
  await ask('/api/runs', { token, body: { agent: 'waiting', input: 'go' } })
  await eventually('the tool is at work', async () => said().out.match(/at work/)?.[0])
  child.kill('SIGTERM')
  await eventually('it stops', async () => said().out.match(/releasing the runs/)?.[0])
  // WHEN its store is removed meanwhile
  rmSync(store)
  // THEN it does not wait for what cannot be recorded
  expect(await Promise.race([over, late(10_000)])).toBe(8)
  expect(said().err).toMatch(oneSentence)
  expect(said().out).not.toContain('Stopped.')
})

for (const [command, end] of [
  ['serve', ''],
  ['serve', '-wal'],
  ['serve', '.guard'],
  ['worker', ''],
] as const)
  concurrently(
    `F-103, F-111 ${command}: a store whose file (${end}) is removed under it is noticed at rest, and it exits 8`,
    async () => {
      const { ask, store, over, said, folder } = await start(command, 'plenty')
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
      const next = await new Promise<string>((resolve) =>
        execFile(process.execPath, [launcher, 'ps', '--store', `sqlite:${store}`], { cwd: folder }, (_, __, err) =>
          resolve(err),
        ),
      )
      expect(next).not.toContain('is held by')
    },
  )

const late = (ms: number) =>
  new Promise<string>((resolve) => setTimeout(() => resolve('it is still there'), ms).unref())
