import { createStatewright, type Fault } from '../../src/index.ts'
import { faultAgents, lease_ms } from './agents.ts'
import { connectBank } from './bank.ts'

/** A worker process of the fault loop: `worker.ts STORE_URL BANK_PORT`. It uses the public interface only. */
const [store = '', port = ''] = process.argv.slice(2)
const bank = await connectBank(Number(port))
// A database that is away when it starts is refused with a sentence. Its supervisor starts it again.
const sw = await createStatewright({
  store,
  agents: faultAgents(bank),
  settings: { leaseMs: lease_ms },
  maxConcurrentRuns: 16,
}).catch((error: Fault) => {
  if (!error.code?.startsWith('store_')) throw error
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
})
process.stdout.write('ready\n')
process.once('SIGTERM', async () => {
  await sw.close()
  process.exit(0)
})
