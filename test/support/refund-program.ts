/**
 * An agent that refunds an order, in a process of its own. Its model tries the same refund again, however often it is
 * told no. It works until nothing is left to do, says what became of it, and ends.
 */
import { z } from 'zod'
import { call, say, scriptedModel } from '../../src/entry/testing.ts'
import { agent, createStatewright, DidNotHappen, tool } from '../../src/index.ts'
import type { BankManner } from './bank-program.ts'

export interface RefundOptions {
  readonly store: string
  readonly bank: string
  /** How the bank behaves at each attempt; the last one counts for all that follow. */
  readonly manners: readonly BankManner[]
  readonly mode?: 'interactive' | 'auto'
  readonly session_id?: string
  /** The run to go on with. */
  readonly run_id?: string
}

export interface RefundReport {
  readonly session_id: string
  readonly run_id: string
  readonly status: string
  readonly error_code: string | null
  /** How often the tool was called in this process. */
  readonly attempts: number
}

const given = JSON.parse(process.argv[2] ?? '') as RefundOptions
let attempts = 0

const refund = tool({
  name: 'payments.refund',
  input: z.object({ order: z.int() }),
  irreversible: true,
  approval: 'never',
  timeoutMs: 1_000,
  async run({ order }, { idempotencyKey, signal }) {
    const manner = given.manners[Math.min(attempts++, given.manners.length - 1)]
    const body = JSON.stringify({ order, idempotency_key: idempotencyKey })
    try {
      const answered = await fetch(`${given.bank}/${manner}`, { method: 'POST', body, signal })
      const said = await answered.text()
      if (answered.status === 402) throw new DidNotHappen(said)
      if (!answered.ok)
        throw Object.assign(new Error(`The bank answered ${answered.status}.`), { status: answered.status, body: said })
      return JSON.parse(said)
    } catch (error) {
      // The bank documents that it books nothing for a connection that it resets.
      if (Object(Object(error).cause).code === 'ECONNRESET') throw new DidNotHappen('reset', { cause: error })
      throw error
    }
  },
})
const teller = agent({
  role: 'teller',
  tools: [refund],
  model: scriptedModel(({ messages }) => {
    const asked = messages.findLastIndex((message) => message.role === 'user')
    const told = messages.slice(asked).filter((message) => message.role === 'tool').length
    return told < 2 ? call('payments.refund', { order: 42 }) : say('I gave up trying.')
  }),
})

const sw = await createStatewright({ store: given.store, agents: { teller } })
const { mode = 'interactive', session_id: session } = given
const run =
  given.run_id === undefined
    ? await sw.runs.start({
        agent: 'teller',
        input: 'refund',
        mode,
        ...(session !== undefined && { sessionId: session }),
      })
    : await sw.runs.get(given.run_id)
await sw.idle()
const { sessionId, runId } = run
const found = await sw.runs.show(runId)
const report: RefundReport = {
  session_id: sessionId,
  run_id: runId,
  status: found.status,
  error_code: found.error_code,
  attempts,
}
await sw.close()
console.log(JSON.stringify(report))
process.exit(0)
