import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { openStore } from '../../src/app/open-store.ts'
import { createStatewright } from '../../src/app/statewright.ts'
import { Fault } from '../../src/faults/fault.ts'
import { isTerminal } from '../../src/kernel/machine.ts'
import { runMachine } from '../../src/machines/run.ts'
import type { Runelog } from '../../src/runelog/port.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import type { Caller, Job, Notice } from './engine.ts'

type Statewright = Awaited<ReturnType<typeof createStatewright>>
type Tell = (notice: Notice) => void

function agentsOf(tell: Tell) {
  const pay = tool({
    name: 'payments.pay',
    input: z.object({ name: z.string(), slow_ms: z.int() }),
    irreversible: true,
    // The receiver knows the key, so a call that its worker left is repeated and no person is asked.
    idempotent: true,
    approval: 'always',
    run: async ({ name, slow_ms }, { runId }) => {
      tell({ told: 'effect', run: runId, at: String(process.hrtime.bigint()) })
      if (slow_ms > 0) await delay(slow_ms)
      return { paid: name }
    },
  })
  const model = scriptedModel(({ messages }, said) => {
    if (said > 0) return say('paid')
    const input = messages.flatMap((message) => (message.role === 'user' ? [message.content] : []))[0]
    return call('payments.pay', JSON.parse(String(input)))
  })
  return { payer: agent({ role: 'payer', model, tools: [pay] }) }
}

/** Tells of questions and ends once they are recorded. */
function told(runelog: Runelog, tell: Tell): Runelog {
  return {
    ...runelog,
    async append(batch) {
      const runes = await runelog.append(batch)
      if (runes instanceof Fault) return runes
      for (const { kind, run_id: run = '', interaction_id: id = '', payload, to } of runes) {
        if (kind === 'interaction.opened' && typeof payload.digest === 'string')
          tell({ told: 'asked', run, question: { id, digest: payload.digest } })
        if (kind === 'run.moved' && isTerminal(runMachine, to)) tell({ told: 'ended', run })
      }
      return runes
    },
  }
}

const open = (store: Awaited<ReturnType<typeof openStore>> | string, tell: Tell, maxConcurrentRuns: number) =>
  createStatewright({ store, agents: agentsOf(tell), maxConcurrentRuns, warn: () => {} })

export async function prepare(url: string): Promise<void> {
  await (await open(url, () => {}, 0)).close()
}

async function working(url: string, tell: Tell) {
  const store = await openStore(url)
  return open({ ...store, runelog: told(store.runelog, tell) }, tell, 10)
}

export async function worker(url: string, _: string, tell: Tell): Promise<void> {
  await working(url, tell)
}

export const caller = async (url: string): Promise<Caller> => callerOf(await open(url, () => {}, 0))

export const both = async (url: string, tell: Tell): Promise<Caller> => callerOf(await working(url, tell))

function callerOf(sw: Statewright): Caller {
  return {
    start: async (job: Job) => (await sw.runs.start({ agent: 'payer', input: JSON.stringify(job) })).runId,
    async reply(_, question) {
      await sw.inbox.reply(question?.id ?? '', { reply: { decision: 'approve', digest: question?.digest ?? '' } })
    },
    isEnded: async (run) => isTerminal(runMachine, (await sw.runs.show(run)).status),
  }
}
