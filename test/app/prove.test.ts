import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openSqliteReadOnly } from '../../src/adapters/sqlite/read-only.ts'
import { openSqliteRunelog } from '../../src/adapters/sqlite/runelog.ts'
import { proveHere, proveInThreads } from '../../src/app/prove.ts'
import type { Proved } from '../../src/surface/wiring.ts'
import { opening, plain } from '../support/drafts.ts'
import { scratchFolder } from '../support/scratch-folder.ts'

const scratch = scratchFolder('prove')
const count = 500

/** A store of many sessions. Every fiftieth is damaged; every tenth has an erased text, of which some were forged again. */
async function aStore() {
  const path = join(scratch.fresh(), 'store.db')
  const runelog = await openSqliteRunelog(path, hostPorts)
  const ids = Array.from({ length: count }, (_, i) => `ses_${i + 1}`)
  const said = plain('turn.assistant_delta', { content: 'hello' })
  const appended = ids.map((id) => runelog.append({ session_id: id, runes: [opening('session', id), said] }))
  await Promise.all(appended)
  for (const id of ids.filter((_, i) => i % 10 === 0)) await runelog.redact(id, 2, 'a number')
  await runelog.close()
  const db = new DatabaseSync(path)
  db.exec(`DROP TRIGGER record_is_never_changed; UPDATE record SET hash = zeroblob(32) WHERE session % 50 = 0;
    UPDATE record SET payload = replace(payload, '[redacted]', 'hello') WHERE session % 50 = 1 AND event_id = 2`)
  db.close()
  return { path, asked: ids.map((session_id) => ({ session_id, marks: [] })) }
}

const byId = (proved: readonly Proved[]) => proved.toSorted((a, b) => (a.session_id < b.session_id ? -1 : 1))

test.each([
  ['as fast as it can', 0],
  ['while its reader is busy with each verdict', 1],
])('verify: in threads, %s, each session has the verdict that it has alone, once', async (_, wait_ms) => {
  const { path, asked } = await aStore()
  const runelog = await openSqliteReadOnly(path)
  const alone = await Array.fromAsync(proveHere(runelog, asked, []))
  const problems = Map.groupBy(alone, ({ first_bad }) => first_bad?.problem)
  expect(problems.get('its hash does not follow from the event before it.')).toHaveLength(count / 50)
  expect(problems.get('its payload was erased, and its remains are not what a redaction leaves.')).toHaveLength(
    count / 50,
  )
  const proved: Proved[] = []
  for await (const one of proveInThreads(runelog, asked, { path, trusted: [] })) {
    proved.push(one)
    if (wait_ms > 0) await setTimeout(wait_ms)
  }
  await runelog.close()
  expect(byId(proved)).toEqual(byId(alone))
})

test('verify: a thread that ends by itself fails the verification, and no session counts as sound', async () => {
  const { path, asked } = await aStore()
  const runelog = await openSqliteReadOnly(path)
  onTestFinished(() => runelog.close())
  const threads: Worker[] = []
  const { postMessage } = Worker.prototype
  onTestFinished(() => {
    Worker.prototype.postMessage = postMessage
  })
  Worker.prototype.postMessage = function (this: Worker, ...given) {
    if (!threads.includes(this)) threads.push(this)
    return postMessage.apply(this, given)
  }
  const proving = async () => {
    for await (const _ of proveInThreads(runelog, asked, { path, trusted: [] }))
      for (const thread of threads.splice(0)) await thread.terminate()
  }
  await expect(proving()).rejects.toThrow('A verifying thread ended with code ')
})

test('verify: a thread starts without the schemas of the kinds, which take longer to load than the rest of it', async () => {
  const { path } = await aStore()
  const program = `const seen = []
    require('node:module').registerHooks({ load: (url, context, next) => (seen.push(url), next(url, context)) })
    const { parentPort, workerData } = require('node:worker_threads')
    import(workerData.thread).then(() => parentPort.postMessage(seen))`
  const thread = new URL('../../src/app/prove-thread.ts', import.meta.url).href
  const worker = new Worker(program, { eval: true, workerData: { thread, path, trusted: [] } })
  const [loaded]: (readonly string[])[] = await once(worker, 'message')
  await worker.terminate()
  expect(loaded).toContainEqual(expect.stringContaining('/observation/readings.ts'))
  expect(loaded?.filter((url) => /zod|kinds/.test(url))).toEqual([])
})

test('verify: a thread that fails ends it with its error', async () => {
  const { path, asked } = await aStore()
  const runelog = await openSqliteReadOnly(path)
  const proving = async () => {
    const elsewhere = join(scratch.fresh(), 'absent.db')
    for await (const _ of proveInThreads(runelog, asked, { path: elsewhere, trusted: [] })) await setTimeout(1)
  }
  await expect(proving()).rejects.toThrow('there is no such file')
  await runelog.close()
})
