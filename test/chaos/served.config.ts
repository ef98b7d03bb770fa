import { once } from 'node:events'
import { defineConfig } from '../../src/index.ts'
import { faultAgents } from './agents.ts'
import { connectBank } from './bank.ts'

/**
 * The config of `statewright serve` in the kill loop. Everything is loaded before
 * the word "go" comes, and nothing of the store is touched: a process that is
 * killed often has its successor ready.
 */
const { FAULTS_STORE: store = '', FAULTS_BANK: port = '', FAULTS_TOKEN: token = '' } = process.env
await once(process.stdin, 'data')
process.stdin.unref()
const bank = await connectBank(Number(port))

export default defineConfig({
  store,
  agents: faultAgents(bank),
  // A life may be too short for progress, many times in a row.
  settings: { requeueLimit: 1_000 },
  maxConcurrentRuns: 16,
  server: { tokens: [{ name: 'operator', token, scope: 'admin' }] },
})
