import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { call, say, scriptedModel } from '../../src/entry/testing.ts'
import { type Agent, agent, type Tool, type ToolContext, tool } from '../../src/index.ts'
import type { connectBank } from './bank.ts'

export const pay_timeout_ms = 500
export const lease_ms = 2_000
/** A worker may sleep so long and still find its question open. */
export const longest_stop_ms = 3 * (pay_timeout_ms + lease_ms)

export type Kind = 'payer' | 'prober' | 'stubborn' | 'reader' | 'signer'

export interface Order {
  readonly order: number
  /** How long the tool works before it acts, and after it has acted. */
  readonly before_ms: number
  readonly after_ms: number
}

/** `attempt` counts the calls before this one. It tells calls apart, so that trying again is not taken for a loop. */
const input = z.object({ order: z.int(), before_ms: z.int(), after_ms: z.int(), attempt: z.int() })

/**
 * The agents of every process in the fault loop. `bank` is absent where agents
 * are only named, as in the process that gives commands.
 */
export function faultAgents(bank?: Awaited<ReturnType<typeof connectBank>>): Readonly<Record<Kind, Agent>> {
  const outside = () => {
    if (bank === undefined) throw new Error('This process only gives commands.')
    return bank
  }
  const paying = (name: string, checksSignal: boolean) =>
    ({
      name,
      input,
      irreversible: true,
      approval: 'never',
      timeoutMs: pay_timeout_ms,
      key: ({ order }: z.output<typeof input>) => `order ${order}`,
      async run({ order, before_ms, after_ms, attempt }: z.output<typeof input>, context: ToolContext) {
        // The wait ignores the signal: only the look right before the act counts. A later attempt does not dawdle.
        await delay(attempt === 0 ? before_ms : 0)
        if (checksSignal) context.signal.throwIfAborted()
        const booked = outside().book(order, context.executionId)
        await booked
        await delay(after_ms)
        return { paid: order }
      },
    }) as const
  const pay = tool(paying('pay.send', true))
  const payAnyway = tool(paying('pay.anyway', false))
  const payProbed = tool({
    ...paying('pay.probed', true),
    probe: async (_key, { order }) => ({ outcome: (await outside().find(order)) ? 'happened' : 'did_not' }),
  })
  const read = tool({
    name: 'page.read',
    input: z.object({ page: z.int() }),
    readOnly: true,
    approval: 'never',
    run: async ({ page }) => {
      await delay(20)
      return page
    },
  })
  const sign = tool({
    name: 'paper.sign',
    input: z.object({}),
    approval: 'always',
    // That it did not happen may be said when this and a lease are over.
    timeoutMs: pay_timeout_ms,
    run: () => 'signed',
  })

  const count = (messages: readonly { readonly role: string }[]) =>
    messages.filter(({ role }) => role === 'tool').length
  const payer = (name: string, by: Tool<typeof input>) =>
    agent({
      role: name,
      tools: [by],
      model: scriptedModel(({ messages }) => {
        const last = messages.findLast((message) => message.role === 'tool')
        if (last?.role === 'tool' && last.consequence.consequence_label === 'SUCCESS') return say('paid')
        const asked = messages.findLast((message) => message.role === 'user')
        return call(by.name, { ...(asked?.content as Record<string, number>), attempt: count(messages) })
      }),
    })
  return {
    payer: payer('payer', pay),
    prober: payer('prober', payProbed),
    stubborn: payer('stubborn', payAnyway),
    reader: agent({
      role: 'reader',
      tools: [read],
      model: scriptedModel(({ messages }) =>
        count(messages) < 3 ? call('page.read', { page: count(messages) }) : say('read'),
      ),
    }),
    signer: agent({
      role: 'signer',
      tools: [sign],
      model: scriptedModel(({ messages }) => (count(messages) === 0 ? call('paper.sign') : say('signed'))),
    }),
  }
}
