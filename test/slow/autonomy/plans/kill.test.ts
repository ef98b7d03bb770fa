import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { closeStore, openStore } from '../../../../src/app/open-store.ts'
import { isProof } from '../../../support/sampling.ts'

const scratch = mkdtempSync(join(tmpdir(), 'statewright-plan-kill-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

function plan(store: string, n: number) {
  const { signal, stdout, stderr } = spawnSync(process.execPath, ['test/support/plan-program.ts', store, String(n)], {
    encoding: 'utf8',
    timeout: 60_000,
  })
  return { signal, stderr, said: stdout === '' ? null : JSON.parse(stdout) }
}

async function kindsIn(url: string): Promise<readonly string[]> {
  const store = await openStore(url)
  const [session_id = ''] = await store.runelog.sessionIds()
  const runes = await store.runelog.read(session_id)
  await closeStore(store)
  return runes.map(({ kind, to }) => `${kind} ${to ?? ''}`)
}

test('kill: a plan on disk goes on after kill -9, and is the plan it would have been', async () => {
  const whole = `sqlite:${join(scratch, 'whole.db')}`
  const { said } = plan(whole, 0)
  expect(said).toMatchObject({ state: 'DONE', problems: [] })
  const kinds = await kindsIn(whole)
  const kills = isProof ? Array.from({ length: said.appends }, (_, i) => i + 1) : [1, 12]
  for (const n of kills) {
    const store = `sqlite:${join(scratch, `${n}.db`)}`
    expect(plan(store, n), `append ${n}`).toMatchObject({ signal: 'SIGKILL', said: null })
    expect(plan(store, 0).said, `after append ${n}`).toMatchObject({ state: 'DONE', problems: [] })
    expect(await kindsIn(store), `after append ${n}`).toEqual(kinds)
  }
  console.log(`killed after append ${kills.join(', ')} of ${said.appends}`)
})
