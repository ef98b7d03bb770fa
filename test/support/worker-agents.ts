import { appendFileSync, closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { Json } from '../../src/kernel/json.ts'
import { type Agent, agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import type { Message } from '../../src/wire/dialogue.ts'

/** How long a payment may take before its outcome is unknown. */
export const pay_timeout_ms = 500

/** Names of readers, for many in one session. */
export const sideBySide = Array.from({ length: 8 }, (_, i) => `reader_${i}`)

/** The effects of each worker, as the world outside knows them. */
export interface Effect {
  readonly order: number
  readonly execution_id: string
  readonly pid: number
}

export function readWitness(path: string): readonly Effect[] {
  const text = readFileSync(path, { encoding: 'utf8', flag: 'a+' })
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Effect]))
}

/** Names the executions that a tool has begun with, one per line. */
export const begunPath = (witnessPath: string) => `${witnessPath}.begun`

/** Written and synced before it returns: the effect has happened, also if the process is killed. */
function witness(path: string, effect: Effect) {
  const file = openSync(path, 'a')
  writeSync(file, `${JSON.stringify(effect)}\n`)
  fsyncSync(file)
  closeSync(file)
}

/** With this file, the teller begins. */
export const tellPath = (witnessPath: string) => `${witnessPath}.tell`
/** The text of the teller. */
export const story = 'Once upon a time 🐉 there was a worker. '.repeat(100)

/** The agents that every process of these tests has. Each takes its orders from the input of its run. */
export function workerAgents(witnessPath: string): Readonly<Record<string, Agent>> {
  const pay = tool({
    name: 'pay.send',
    input: z.object({ order: z.int() }),
    irreversible: true,
    approval: 'never',
    timeoutMs: pay_timeout_ms,
    async run({ order }, { executionId }) {
      witness(witnessPath, { order, execution_id: executionId, pid: process.pid })
      // It has happened, and for a while only the world outside knows.
      await delay(100)
      return { paid: order }
    },
  })
  const read = tool({
    name: 'page.read',
    input: z.object({ page: z.int(), ms: z.int(), gate: z.string().optional() }),
    readOnly: true,
    approval: 'never',
    // It is not over before the gate is open, so that a test decides when, and not the speed of a machine.
    async run({ page, ms, gate }, { signal }) {
      do await delay(ms, undefined, { signal })
      while (gate !== undefined && !existsSync(gate))
      return page
    },
  })
  // It acts when the gate is open, however long ago it was given up. `heeds`: it looks at its signal right before.
  const wire = tool({
    name: 'wire.send',
    input: z.object({ order: z.int(), gate: z.string(), heeds: z.boolean() }),
    irreversible: true,
    approval: 'never',
    timeoutMs: pay_timeout_ms,
    async run({ order, gate, heeds }, { executionId, signal }) {
      appendFileSync(begunPath(witnessPath), `${executionId}\n`)
      do await delay(20)
      while (!existsSync(gate))
      if (heeds && signal.aborted) throw new Error('It was held back.')
      witness(witnessPath, { order, execution_id: executionId, pid: process.pid })
      return { wired: order }
    },
    async probe(_, { order }) {
      const isThere = readWitness(witnessPath).some((effect) => effect.order === order)
      return { outcome: isThere ? 'happened' : 'did_not' }
    },
  })
  const sign = tool({
    name: 'paper.sign',
    input: z.object({}),
    approval: 'always',
    run: () => 'signed',
  })

  const reader = agent({
    role: 'reader',
    tools: [read],
    maxRounds: 200,
    model: scriptedModel(({ messages }) => {
      const { pages, ...how } = input(messages) as { pages: number; ms: number; gate?: string }
      const page = sinceInput(messages).filter(({ role }) => role === 'tool').length
      return page < pages ? call('page.read', { page, ...how }) : say(`read ${pages} pages`)
    }),
  })

  return {
    wirer: agent({
      role: 'wirer',
      tools: [wire],
      model: scriptedModel(({ messages }) =>
        lastLabel(messages) === 'SUCCESS' ? say('wired') : call('wire.send', input(messages) as Json),
      ),
    }),
    payer: agent({
      role: 'payer',
      tools: [pay],
      model: scriptedModel(({ messages }) =>
        lastLabel(messages) === 'SUCCESS' ? say('paid') : call('pay.send', { order: input(messages) as number }),
      ),
    }),
    reader,
    ...Object.fromEntries(sideBySide.map((name) => [name, reader])),
    signer: agent({
      role: 'signer',
      tools: [sign],
      model: scriptedModel(({ messages }) =>
        lastLabel(messages) === undefined ? call('paper.sign') : say(String(lastLabel(messages))),
      ),
    }),
    // It tells its story once it may, for two seconds.
    teller: agent({
      role: 'teller',
      model: scriptedModel(() => say(story), {
        pieces: 40,
        beforeDelta: async (_, signal) => {
          do await delay(50, undefined, { signal })
          while (!existsSync(tellPath(witnessPath)))
        },
      }),
    }),
    // It speaks for ever, until it is told something that ends the sentence.
    speaker: agent({
      role: 'speaker',
      model: scriptedModel(({ messages }) => say(input(messages) === 'end' ? 'ok' : 'on and on and on'), {
        pieces: 4,
        beforeDelta: async (index, signal) => {
          if (index === 2) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        },
      }),
    }),
  }
}

function sinceInput(messages: readonly Message[]): readonly Message[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
}

function input(messages: readonly Message[]): unknown {
  const last = messages.findLast((message) => message.role === 'user')
  return last?.content
}

function lastLabel(messages: readonly Message[]): string | undefined {
  const last = sinceInput(messages).findLast((message) => message.role === 'tool')
  return last?.consequence.consequence_label
}
