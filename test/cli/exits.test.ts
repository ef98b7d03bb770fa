import { expect, test } from 'vitest'
import { exitFor, exitMeanings, exits } from '../../src/cli/exits.ts'
import { faults } from '../../src/faults/catalogue.ts'
import { runCli } from '../support/run-cli.ts'

test('exits: every exit code has one meaning, and the help says it', async () => {
  const { out } = await runCli(['--help'])
  expect(new Set(Object.values(exits)).size).toBe(Object.keys(exits).length)
  for (const [name, meaning] of Object.entries(exitMeanings))
    expect(out).toContain(`${exits[name as keyof typeof exits]}  ${meaning}`)
})

test.each([
  ['bad_usage', 2],
  ['bad_request', 2],
  ['reply_unfit', 2],
  ['not_found', 3],
  ['id_ambiguous', 3],
  ['run_not_over', 4],
  ['transition_refused', 6],
  ['interaction_closed', 6],
  ['session_over', 6],
  ['key_reused', 6],
  ['store_locked', 7],
  ['store_unreachable', 7],
  ['store_poisoned', 8],
  ['bad_definition', 1],
  ['file_unusable', 1],
] as const)('exits: %s is exit code %i', (code, exit) => {
  expect(exits[exitFor({ code, http: faults[code].row.http })]).toBe(exit)
})

test('exits: no refusal exits 0', () => {
  for (const [code, { row }] of Object.entries(faults)) expect(exitFor({ code, http: row.http }), code).not.toBe('ok')
})
