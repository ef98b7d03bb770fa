import { expect, test } from 'vitest'
import { foldSession, newSessionState } from '../../../src/observation/fold-session.ts'
import type { Draft, Rune } from '../../../src/runes/rune.ts'
import { createBatch } from '../../../src/runtime/batch.ts'
import { cancelled } from '../../../src/runtime/run/calls.ts'
import { created, move, opening } from '../../support/drafts.ts'

/** A contract that is opened and begun in one append, and ends in a later one. */
function remembered(visibility: 'public' | 'secret') {
  const state = newSessionState('ses_1')
  const about = { run_id: 'run_1', agent_id: 'agt_1', turn_id: 'trn_1', call_id: 'call_1', execution_id: 'exe_1' }
  const opened = { ...opening('contract', 'exe_1'), ...about, visibility }
  const started = { ...move('contract', 'exe_1', ['pending', 'start']), ...about, visibility: 'public' as const }
  const drafts: Draft[] = [created('ses_1'), opened, started]
  for (const [i, draft] of drafts.entries())
    foldSession(state, { ...draft, event_id: i + 1, session_id: 'ses_1' } as Rune)
  const call = state.calls.get('call_1')
  if (call === undefined) throw new Error('The call is folded.')
  const batch = createBatch(state, 1)
  cancelled(batch, call, 'stopped', 'human')
  return batch.runes.map(({ kind }) => kind)
}

test('INV-MEMORY-PRIVACY: a contract that was opened in secret is not remembered when it ends in another append', () => {
  expect(remembered('public')).toEqual(['contract.moved', 'memory.committed'])
  expect(remembered('secret')).toEqual(['contract.moved'])
})
