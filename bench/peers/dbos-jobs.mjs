/** Core jobs in DBOS: the answer of the model, the question, the effect and the end are steps. A message is the reply. */
import { setTimeout as delay } from 'node:timers/promises'
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk'

const applicationVersion = 'bench'
const step = (name, work) => DBOS.runStep(async () => work(), { name })

export async function prepare(url) {
  await DBOS.migrate(url)
}

export async function worker(url, name, tell) {
  DBOS.registerWorkflow(
    async (run, slow_ms) => {
      await step('model', () => ({ call: 'payments.pay', input: { run } }))
      await step('question', () => ({ question: 'May it be paid?' }))
      tell({ told: 'asked', run, question: null })
      await DBOS.recv('reply', { timeoutSeconds: 7 * 86_400 })
      await step('effect', async () => {
        tell({ told: 'effect', run, at: String(process.hrtime.bigint()) })
        if (slow_ms > 0) await delay(slow_ms)
        return { paid: run }
      })
      await step('end', () => ({ said: 'paid' }))
      tell({ told: 'ended', run })
    },
    { name: 'job', maxRecoveryAttempts: 1_000 },
  )
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: url,
    executorID: name,
    applicationVersion,
    logLevel: 'error',
    systemDatabasePoolSize: 15,
  })
  await DBOS.launch()
  await DBOS.registerQueue('jobs', { minPollingIntervalMs: 100, onConflict: 'always_update' })
}

export async function caller(url) {
  const client = await DBOSClient.create({
    systemDatabaseUrl: url,
    applicationName: 'bench',
    systemDatabasePoolSize: 20,
  })
  return {
    async start({ name, slow_ms }) {
      await client.enqueue(
        { workflowName: 'job', queueName: 'jobs', workflowID: name, appVersion: applicationVersion },
        name,
        slow_ms,
      )
      return name
    },
    reply: (run) => client.send(run, { decision: 'approve' }, 'reply'),
    isEnded: async (run) => (await client.retrieveWorkflow(run).getStatus())?.status === 'SUCCESS',
  }
}
