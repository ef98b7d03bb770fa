import { setTimeout as delay } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { createStatewright, type StatewrightOptions } from '../../src/app/statewright.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { ask, call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { note, planOf, worker } from '../scenarios/goal-cast.ts'
import { eventually } from './eventually.ts'

const form = { type: 'form', title: 'Which?', fields: [{ name: 'colour' }] }

/** The refusal of a poisoned store. */
export const poisoned = { code: 'store_poisoned', details: { outcome: 'unknown' } }

/** A program with runs, a goal and tools that wait, and everything in it that can wait for them. */
export async function programWithWaiters(store: StatewrightOptions['store'], registry: string) {
  const asked = Promise.withResolvers<unknown>()
  const begun = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<unknown>()
  const asks = tool({
    name: 'shop.ask',
    input: z.object({}),
    approval: 'never',
    async run(_, context) {
      const answer = context.ask(form)
      asked.resolve(answer?.catch((error) => error))
      await answer
      return 'answered'
    },
  })
  const waits = tool({
    name: 'shop.wait',
    input: z.object({}),
    irreversible: true,
    approval: 'never',
    async run(_, { signal }) {
      begun.resolve()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      stopped.resolve('its signal fired')
      return 'stopped'
    },
  })
  const warned: string[] = []
  const sw = await createStatewright({
    store,
    policy: { mode: 'full_access' },
    plans: { registry },
    warn: (message) => warned.push(message),
    agents: {
      worker: worker(),
      waiting: agent({ role: 'waiting', model: scriptedModel([ask(form)]) }),
      asking: agent({ role: 'asking', tools: [asks], model: scriptedModel([call('shop.ask'), say('ok')]) }),
      busy: agent({ role: 'busy', tools: [waits], model: scriptedModel([call('shop.wait'), say('ok')]) }),
    },
  })
  onTestFinished(() => sw.close())
  const { goalId } = await sw.goals.start({ goal: 'By hand', plan: planOf(note('ta')) })
  const waiting = await sw.runs.start({ agent: 'waiting', input: 'go' })
  const asking = await sw.runs.start({ agent: 'asking', input: 'go' })
  const busy = await sw.runs.start({ agent: 'busy', input: 'go' })
  await begun.promise
  await eventually('three questions', async () => ((await sw.inbox.list()).length === 3 ? true : undefined))
  const leave = new AbortController()
  onTestFinished(() => leave.abort())

  const waiters = {
    'run.result': waiting.result(),
    'run.events': last(waiting.events()),
    'result of a run whose tool asks': asking.result(),
    'result of a run whose tool works': busy.result(),
    'goals.result': sw.goals.result(goalId),
    'goals.watch': last(sw.goals.watch(goalId)),
    'runelog.follow': last(sw.runelog.follow(waiting.sessionId, 0, leave.signal)),
    'context.ask': asked.promise,
    'signal of a tool': stopped.promise,
  }
  // They read first what is there. These reads come after theirs, so that from here on they only wait.
  for (let round = 0; round < 10; round++) await sw.goals.show(goalId)
  return { sw, warned, waiters: Object.entries(waiters).map(([name, waiter]) => [name, kept(waiter)] as const) }
}

/** Each waiter must be refused by a store that failed, and the tool at work is told to stop. */
export const allRefused = {
  'run.result': poisoned,
  'run.events': poisoned,
  'result of a run whose tool asks': poisoned,
  'result of a run whose tool works': poisoned,
  'goals.result': poisoned,
  'goals.watch': poisoned,
  'runelog.follow': poisoned,
  'context.ask': poisoned,
  'signal of a tool': 'its signal fired',
}

/** The outcome of each waiter, within a deadline. */
export async function whatBecameOf(waiters: readonly (readonly [string, Promise<unknown>])[], within_ms = 5_000) {
  const late = delay(within_ms, 'still pending', { ref: false })
  const outcomes = waiters.map(async ([name, waiter]) => [name, await Promise.race([waiter, late])] as const)
  return Object.fromEntries(await Promise.all(outcomes))
}

const kept = (waiter: Promise<unknown>) => waiter.catch((error: unknown) => error)

async function last(list: AsyncIterable<unknown>): Promise<unknown> {
  let seen: unknown
  for await (const one of list) seen = one
  return seen
}
