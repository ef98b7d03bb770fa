import { createStatewright } from '../../src/index.ts'
import { faultAgents, lease_ms } from './agents.ts'
import { connectBank } from './bank.ts'

/** A worker process of the fault loop: `worker.ts STORE_URL BANK_PORT`. It uses the public interface only. */
const [store = '', port = ''] = process.argv.slice(2)
const bank = await connectBank(Number(port))
const sw = await createStatewright({
  store,
  agents: faultAgents(bank),
  settings: { lease_ms },
  max_concurrent_runs: 16,
})
process.stdout.write('ready\n')
process.once('SIGTERM', async () => {
  await sw.close()
  process.exit(0)
})
