import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { importable } from '../../support/cli-project.ts'
import { eventually } from '../../support/eventually.ts'
import { ask, freshDatabase } from '../../support/postgres.ts'
import { runCli } from '../../support/run-cli.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { startServerProcess } from '../../support/server-process.ts'

const scratch = scratchFolder('claims')
const token = 'the-token-of-the-test'

/** Pays what it is told to pay, and writes each payment into a file next to the config, as a bank would. */
const paying = (store: string) => `
import { appendFileSync } from 'node:fs'
import { agent, defineConfig, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'

const pay = tool({
  name: 'bank.pay', input: z.object({ order: z.int() }), irreversible: true, approval: 'never', keyScope: 'global',
  run: ({ order }) => {
    appendFileSync(new URL('./bank.txt', import.meta.url), order + '\\n')
    return 'paid'
  },
})
const payer = agent({
  role: 'payer',
  tools: [pay],
  model: scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    return last.role === 'user' ? call('bank.pay', { order: Number(last.content) }) : say('Done.')
  }),
})
export default defineConfig({
  store: ${JSON.stringify(store)}, agents: { payer }, settings: { leaseMs: 2000 },
  server: { tokens: [{ name: 'test', token: '${token}', scope: 'admin' }] },
})
`

const stores = {
  SQLite: async (folder: string) => `sqlite:${join(folder, 'statewright.db')}`,
  PostgreSQL: freshDatabase,
}

/** One statement past every rule of the store, with its server down. */
async function tamper(store: string, sql: string) {
  if (!store.startsWith('sqlite:')) return ask(store, sql.replaceAll('model_row', 'statewright.model_row'))
  const db = new DatabaseSync(store.slice('sqlite:'.length))
  db.exec(sql)
  return db.close()
}

/** The claim of a payment is deleted, and that of another one is put under a key that no payment has. */
const tampering = (deleted: string, renamed: string) => `
  DELETE FROM model_row WHERE model = 'claims' AND value LIKE '%${deleted}%';
  UPDATE model_row SET key = key || 'x' WHERE model = 'claims' AND value LIKE '%${renamed}%'`

test.each(Object.entries(stores))(
  'F-92 claims on %s: rows that were deleted or changed while the server was down let no payment be made again',
  async (_, storeIn) => {
    // GIVEN two payments that were made, and a server that is down
    const folder = scratch.fresh()
    const store = await storeIn(folder)
    const config = join(folder, 'statewright.config.ts')
    writeFileSync(config, importable(paying(store)))
    const start = () => startServerProcess(config, '', ['--port', '0'], token)
    const first = await start()
    const pay = async (server: typeof first, order: string, session_id?: string) => {
      const body = { agent: 'payer', input: order, ...(session_id !== undefined && { session_id }) }
      const begun = (await server.ask('/api/runs', { body })).json as { run_id: string; session_id: string }
      const { status } = await eventually('the run is over', async () => {
        const { json } = await server.ask(`/api/runs/${begun.run_id}`)
        return json.is_terminal ? (json as { status: string }) : undefined
      })
      return { session_id: begun.session_id, status }
    }
    const paid = () => readFileSync(join(folder, 'bank.txt'), 'utf8')
    const sessions = [await pay(first, '42'), await pay(first, '43')].map(({ session_id }) => session_id)
    expect(paid()).toBe('42\n43\n')
    await first.kill('SIGTERM')

    // WHEN their claims are tampered with, and the payments are asked for again, in their sessions and in new ones
    await tamper(store, tampering(sessions[0] ?? '', sessions[1] ?? ''))
    const named = { exit: 5, err: expect.stringContaining('row claims') }
    expect(await runCli(['verify', '--store', store])).toMatchObject(named)
    const second = await start()
    // THEN none is made, the runs go on, and another one is made
    const goesOn = { status: 'succeeded' }
    for (const session_id of [sessions[0], undefined]) expect(await pay(second, '42', session_id)).toMatchObject(goesOn)
    for (const session_id of [sessions[1], undefined]) expect(await pay(second, '43', session_id)).toMatchObject(goesOn)
    expect(paid()).toBe('42\n43\n')
    expect(await pay(second, '44')).toMatchObject({ status: 'succeeded' })
    expect(paid()).toBe('42\n43\n44\n')
    await second.kill('SIGTERM')
  },
)
