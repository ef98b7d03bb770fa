import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { scenario } from '../../support/scenario.ts'

const script = fileURLToPath(new URL('plan-once.ts', import.meta.url))

function planIn(env: Readonly<Record<string, string>>, turn: number) {
  const printed = execFileSync(process.execPath, [script, String(turn)], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  return JSON.parse(printed) as { digests: string[]; now: string; zone: number }
}

scenario('CO-23', 'Another process, time zone, locale and order of keys give the same bytes', () => {
  // GIVEN the same plans in processes that disagree about time, language and the order of members
  const here = planIn({ TZ: 'UTC', LC_ALL: 'C', LANG: 'C' }, 0)
  const there = planIn({ TZ: 'Pacific/Chatham', LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8' }, 3)
  const elsewhere = planIn({ TZ: 'America/St_Johns', LC_ALL: 'de_DE.UTF-8', LANG: 'de_DE.UTF-8' }, 8)
  // THEN they do disagree
  expect(new Set([here.zone, there.zone, elsewhere.zone]).size).toBe(3)
  // AND the bytes are the same
  expect(there.digests).toEqual(here.digests)
  expect(elsewhere.digests).toEqual(here.digests)
  expect(new Set(here.digests).size).toBe(3)
})
