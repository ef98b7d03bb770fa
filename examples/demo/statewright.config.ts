// The agent of the demo behind a server: `npm start` serves this. The bank is a file here, one line per payment.
import { appendFileSync } from 'node:fs'
import { supportAgent } from '../../src/demo/agent.ts'
import { defineConfig } from '../../src/index.ts'

const support = supportAgent(async (payment) => {
  appendFileSync('statewright-demo.bank.ndjson', `${JSON.stringify(payment)}\n`, { flush: true })
  return { receipt: payment.key.slice(0, 8) }
})

export default defineConfig({ store: 'sqlite:./statewright-demo.db', agents: { support } })
