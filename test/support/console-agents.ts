import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { type Agent, agent } from '../../src/runtime/define-agent.ts'
import { ask, breakOff, call, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import type { Message } from '../../src/wire/dialogue.ts'

/** Every type of field that a form can have. */
export const everyField = [
  { name: 'customer', type: 'text', label: 'Customer', required: true },
  { name: 'note', type: 'textarea', label: 'Note' },
  { name: 'currency', type: 'select', label: 'Currency', options: ['EUR', 'USD'], default: 'EUR' },
  { name: 'channels', type: 'multiselect', label: 'Channels', options: ['mail', 'phone', 'letter'] },
  {
    name: 'speed',
    type: 'radio',
    label: 'Speed',
    options: [
      { value: 'slow', label: 'Slow' },
      { value: 'fast', label: 'Fast' },
    ],
  },
  { name: 'consent', type: 'checkbox', label: 'The customer agrees', required: true },
  { name: 'amount', type: 'number', label: 'Amount', min: 1, max: 100, required: true },
  { name: 'share', type: 'slider', label: 'Share', min: 0, max: 10, step: 1, default: 3 },
  { name: 'day', type: 'date', label: 'Day' },
  { name: 'moment', type: 'datetime', label: 'Moment' },
  { name: 'urgent', type: 'boolean', label: 'Urgent', default: false },
] as const

/** Agents to be watched: each plays one story, told by its input. */
export function consoleAgents(folder: string): Readonly<Record<string, Agent>> {
  const look = tool({
    name: 'orders.look',
    input: z.object({ order: z.int() }),
    readOnly: true,
    run: ({ order }) => ({ order, cents: 4_200, paid: true }),
  })
  const stock = tool({
    name: 'stock.count',
    input: z.object({ item: z.string() }),
    readOnly: true,
    run: async ({ item }) => {
      await delay(300)
      return { item, count: 7 }
    },
  })
  const refund = tool({
    name: 'payments.refund',
    input: z.object({ order: z.int(), cents: z.int(), note: z.string().optional() }),
    irreversible: true,
    approval: 'always',
    run: ({ order }, { idempotencyKey }) => ({ refunded: order, receipt: idempotencyKey.slice(0, 8) }),
  })
  // The first time it begins and never ends: killing the process leaves an unknown outcome.
  const wire = tool({
    name: 'bank.wire',
    input: z.object({ order: z.int() }),
    irreversible: true,
    approval: 'never',
    timeoutMs: 1_000,
    run: async ({ order }, { signal }) => {
      const begun = `${folder}/wire-${order}`
      const isFirst = !existsSync(begun)
      writeFileSync(begun, 'begun')
      if (isFirst) await delay(60_000, undefined, { signal })
      return { wired: order }
    },
  })

  return {
    support: agent({
      role: 'support',
      tools: [look, stock, refund],
      model: scriptedModel(
        ({ messages }) => {
          const { label, tools } = since(messages)
          if (tools === 0)
            return together(
              say('Let me look at the order and at the stock before I do anything that cannot be undone. '),
              call('orders.look', { order: orderOf(messages) }),
              call('stock.count', { item: 'lamp' }),
            )
          if (tools === 2) return call('payments.refund', { order: orderOf(messages), cents: 4_200 })
          return say(label === 'SUCCESS' ? `Order ${orderOf(messages)} is refunded.` : 'I was told not to refund it.')
        },
        speaking(folder, 6, 40),
      ),
    }),
    clerk: agent({
      role: 'clerk',
      model: scriptedModel(({ messages }) => {
        const { tools, result } = since(messages)
        if (tools === 0)
          return ask({
            type: 'form',
            title: 'Who is the customer?',
            description: 'I need this to go on.',
            fields: everyField as never,
          })
        return say(`You said ${JSON.stringify(result)}`)
      }),
    }),
    // Tries to mislead the person who decides.
    forger: agent({
      role: 'forger',
      tools: [refund],
      model: scriptedModel(({ messages }) => {
        const { tools, label } = since(messages)
        if (tools > 0) return say(`It ended as ${label}.`)
        if (askedFor(messages).startsWith('Delete'))
          return ask({
            type: 'confirmation',
            title: 'Delete all orders?',
            displays: [{ type: 'ascii', data: 'One order of many.\n'.repeat(200) }],
            actions: { approve: { label: 'Refuse (safe)' }, reject: { label: 'Approve' } },
          })
        const note = `${'A long story. '.repeat(1_000)}To DE\u202e98 7654\u202c 3210.`
        return call('payments.refund', { order: orderOf(messages), cents: 4_200, note })
      }),
    }),
    cashier: agent({
      role: 'cashier',
      tools: [wire],
      model: scriptedModel(({ messages }) => {
        const { tools, label } = since(messages)
        return tools === 0 ? call('bank.wire', { order: orderOf(messages) }) : say(`The wire ended as ${label}.`)
      }),
    }),
    // It fails until a file is there.
    patient: agent({
      role: 'patient',
      model: scriptedModel(() => (existsSync(`${folder}/repaired`) ? say('I am well again.') : breakOff('down'))),
      retries: { tries: 9, firstDelayMs: 1 },
    }),
    poet: agent({
      role: 'poet',
      model: scriptedModel(() => say('Line after line after line. '.repeat(20)), speaking(folder, 40, 60)),
    }),
  }
}

/** Files that hold a speaker while they are there: before its first word, and after that. */
export const hushes = { beginning: 'hush-beginning', middle: 'hush-middle' }

/** Speaks piece by piece. However slow the one who listens is, nothing is said before it is there, or over before it has looked. */
function speaking(folder: string, pieces: number, ms: number) {
  return {
    pieces,
    async beforeDelta(index: number, signal: AbortSignal) {
      await delay(ms)
      const hush = [hushes.beginning, hushes.middle][index]
      while (hush !== undefined && existsSync(`${folder}/${hush}`) && !signal.aborted) await delay(20)
    },
  }
}

const askedFor = (messages: readonly Message[]) =>
  String(messages.findLast((message) => message.role === 'user')?.content)

const orderOf = (messages: readonly Message[]) => Number(/\d+/.exec(askedFor(messages))?.[0] ?? 1)

/** The messages since the last one of a person. */
function since(messages: readonly Message[]) {
  const from = messages.findLastIndex((message) => message.role === 'user')
  const tools = messages.slice(from).flatMap((message) => (message.role === 'tool' ? [message.consequence] : []))
  return { tools: tools.length, label: tools.at(-1)?.consequence_label, result: tools.at(-1)?.result ?? null }
}
