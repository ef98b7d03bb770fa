/** Many runs at once in a process of its own: core jobs, or sessions that work step by step. */
import { z } from 'zod'
import { createStatewright } from '../../src/app/statewright.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { text } from '../support/text.ts'
import { meterCommits, processorTime } from '../support/usage.ts'

const { store, kind, count } = JSON.parse(process.argv[2] ?? '') as {
  readonly store: string
  readonly kind: 'core' | 'steps'
  readonly count: number
}

export interface Jobs {
  readonly clock_ms: number
  readonly processor_ms: number
  readonly commits: { readonly count: number; readonly clock_ms: number; readonly processor_ms: number }
}

const atOnce = 64
const output = text(1_024)
let paid = 0
const pay = tool({
  name: 'payments.pay',
  input: z.object({ order: z.int() }),
  irreversible: true,
  approval: 'always',
  run: ({ order }) => {
    paid++
    return { paid: order }
  },
})
const echo = tool({ name: 'echo.it', input: z.object({ i: z.int() }), readOnly: true, run: () => output })
const payer = scriptedModel((_, said) => (said === 0 ? call('payments.pay', { order: 1 }) : say('paid')))
const steps = 30
const worker = scriptedModel((_, said) => (said % (steps + 1) < steps ? call('echo.it', { i: said }) : say('done')))
const sw = await createStatewright({
  store,
  agents: {
    payer: agent({ role: 'payer', model: payer, tools: [pay] }),
    worker: agent({ role: 'worker', model: worker, tools: [echo], maxRounds: steps + 1 }),
  },
})

/** Submit, suspend for a reply, resume, one irreversible effect, end. */
async function coreJob() {
  const run = await sw.runs.start({ agent: 'payer', input: 'pay' })
  for await (const event of run.events())
    if (event.type === 'rune' && event.rune.kind === 'interaction.opened')
      await sw.inbox.reply(event.rune.interaction_id ?? '', {
        reply: { decision: 'approve', digest: event.rune.payload.digest },
      })
}

const session = async () => (await sw.runs.start({ agent: 'worker', input: 'go' })).result()

async function work(jobs: number, one: () => Promise<unknown>) {
  let left = jobs
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await one()
    }),
  )
}

const one = kind === 'core' ? coreJob : session
await work(kind === 'core' ? 300 : atOnce / 4, one)
paid = 0
const commits = meterCommits()
const used = processorTime()
const began = performance.now()
await work(kind === 'core' ? count : count / steps, one)
const measured: Jobs = { clock_ms: performance.now() - began, processor_ms: processorTime() - used, commits }
await sw.close()
if (kind === 'core' && paid !== count) throw new Error(`${paid} of ${count} payments were made.`)
console.log(JSON.stringify(measured))
