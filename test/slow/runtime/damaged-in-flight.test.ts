import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../../src/kernel/json.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { type ToolDefinition, tool } from '../../../src/runtime/tools/define-tool.ts'
import { replaced, withPacking } from '../../support/records.ts'
import { createWorld } from '../../support/world.ts'

const folder = mkdtempSync(join(tmpdir(), 'statewright-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The files on disk are changed while a payment is under way, and a new process starts on them. */
async function afterwards(name: string, sql: string, declared: Partial<ToolDefinition<z.ZodType>> = {}) {
  const begun = Promise.withResolvers<void>()
  const release = Promise.withResolvers<Json>()
  const again: string[] = []
  const agents = (run: () => Promise<Json>) => {
    const input = z.object({ order: z.int() })
    const probe = async () => {
      again.push('probed')
      return { outcome: 'did_not' as const }
    }
    const pay = tool<z.ZodType>({
      name: 'bank.pay',
      input,
      irreversible: true,
      approval: 'never',
      run,
      probe,
      ...declared,
    })
    const model = scriptedModel([call('bank.pay', { order: 42 }), say('done')])
    return { worker: agent({ role: 'worker', model, tools: [pay] }) }
  }
  const from = join(folder, `${name}.db`)
  const to = join(folder, `${name}-copy.db`)
  const lost = await createWorld({
    store: `sqlite:${from}`,
    agents: agents(() => {
      begun.resolve()
      return release.promise
    }),
  })
  const { runId } = await lost.sw.runs.start({ agent: 'worker', input: 'pay' })
  await begun.promise
  for (const end of ['', '-wal']) cpSync(`${from}${end}`, `${to}${end}`)
  release.resolve('paid')
  await lost.sw.idle()
  await lost.end()

  const db = new DatabaseSync(to)
  withPacking(db)
  db.exec(`DROP TRIGGER record_is_never_changed; ${sql}`)
  db.close()
  const world = await createWorld({
    store: `sqlite:${to}`,
    isDamaged: sql !== '',
    agents: agents(async () => {
      again.push('paid')
      return 'paid'
    }),
  })
  await world.sw.idle()
  const { status } = await world.sw.runs.show(runId)
  const said = JSON.stringify(world.warnings)
  await world.end()
  return { again, status, said }
}

test.each(['idempotent', 'read_only'])(
  'F-92 damage in flight: a payment whose recorded %s was changed is neither repeated nor probed, and said',
  async (flag) => {
    const sql = `UPDATE record SET payload = ${replaced(`"${flag}":false`, `"${flag}":true`)}`
    const { again, status, said } = await afterwards(flag, sql)
    expect(again).toEqual([])
    expect(status).toBe('queued')
    expect(said).toContain('The store is damaged.')
    expect(said).toContain('its payload is not the one that was recorded')
  },
)

test('F-92 damage in flight: other arguments are not sent with the key of a call that may be repeated', async () => {
  const sql = `UPDATE record SET payload = ${replaced('"order":42', '"order":43')}`
  const { again, said } = await afterwards('arguments', sql, { idempotent: true })
  expect(again).toEqual([])
  expect(said).toContain('The store is damaged.')
})

test('F-92 damage in flight: an undamaged log is gone on with', async () => {
  const { again, status } = await afterwards('sound', '', { idempotent: true })
  expect(again).toEqual(['paid'])
  expect(status).toBe('succeeded')
})
