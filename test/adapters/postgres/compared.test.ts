import { expect, test } from 'vitest'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import type { Connection } from '../../../src/adapters/postgres/connection.ts'
import { createKnown } from '../../../src/adapters/postgres/known.ts'
import { beginTransaction } from '../../../src/adapters/postgres/transaction.ts'
import { accepted } from '../../../src/faults/catalogue.ts'
import { allModels } from '../../../src/runelog/models.ts'
import { prepare } from '../../../src/runelog/prepare.ts'
import type { Draft } from '../../../src/runes/rune.ts'
import { created, move, opening } from '../../support/drafts.ts'

const models = allModels()
const { sha256 } = hostPorts
const ports = { sha256, models, fingerprint: '', store: '', origin: '', sideWrites: () => undefined, begun: () => {} }

/** The statements that a contract with this key sends from its opening to its end, and the rows that they compare. */
async function compared(key_scope: 'session' | 'global') {
  const sent: { readonly name: string; readonly signs: readonly string[]; readonly keys: readonly string[] }[] = []
  const connection: Connection = {
    async send(name, ...values) {
      const [signs = [], keys = []] = name === 'record' ? [values[18], values[20]] : []
      sent.push({ name, signs: signs as string[], keys: keys as string[] })
      return []
    },
    text: async () => [],
    commit: async () => true,
    isOpen: () => true,
    ended: new Promise(() => {}),
    end: async () => {},
  }
  const known = createKnown(models)
  const commits: readonly (readonly Draft[])[] = [
    [created('ses_1')],
    [opening('contract', 'exe_1', { irreversible: true, idempotency_key: 'k', key_scope })],
    [move('contract', 'exe_1', ['pending', 'start'])],
    [move('contract', 'exe_1', ['running', 'fail'])],
  ]
  for (const runes of commits) {
    const batch = prepare({ session_id: 'ses_1', runes }, { ...hostPorts, redactor: undefined })
    const transaction = beginTransaction(connection, [batch], ports, known)
    accepted(await transaction.record(batch))
    await transaction.commit()
  }
  const rows = sent.flatMap(({ signs, keys }) => keys.filter((_, i) => signs[i] === '='))
  return { statements: sent.map(({ name }) => name), rows }
}

test('PostgreSQL: a commit compares no row that the head of its session protects', async () => {
  expect(await compared('session')).toEqual({
    statements: ['record', 'openings', 'record', 'record', 'record'],
    rows: [],
  })
})

test('PostgreSQL: a commit compares the row of a key that any session may claim', async () => {
  const { rows } = await compared('global')
  expect(rows).toEqual(['global k', 'global k'])
})
