import { setTimeout as delay } from 'node:timers/promises'
import * as z from 'zod'
import { call, say, scriptedModel, together } from '../entry/testing.ts'
import { type Agent, agent, type Json, type ToolContext, tool } from '../index.ts'
import type { Message } from '../wire/dialogue.ts'
import type { Payment } from './bank.ts'

type Pay = (payment: Payment, signal: AbortSignal) => Promise<{ receipt: string }>

const order = z.object({ order: z.int() })

/** The agent of the demo: it looks at an order and at who placed it, refunds it, and says what it did. */
export function supportAgent(pay: Pay): Agent {
  const refund = tool({
    name: 'payments.refund',
    description: 'Pays the price of an order back. It cannot be undone.',
    input: z.object({ order: z.int(), cents: z.int() }),
    irreversible: true,
    approval: 'always',
    timeoutMs: 20_000,
    run: ({ order: number, cents }, { idempotencyKey, signal }) =>
      pay({ key: idempotencyKey, order: number, cents }, signal),
  })
  return agent({
    role: 'support',
    tools: [
      look('orders.look', 'What was ordered and paid.', {
        item: 'desk lamp',
        cents: 4_200,
        paid: true,
        returned: true,
      }),
      look('customers.look', 'Who placed an order.', { customer: 'C-1007', since: 2019, refunds_this_year: 0 }),
      refund,
    ],
    model: scriptedModel((request) => answer(request.messages), { pieces: 8, beforeDelta: () => delay(30) }),
  })
}

function look(name: string, description: string, found: Readonly<Record<string, Json>>) {
  const run = async ({ order: number }: z.output<typeof order>, { signal }: ToolContext) => {
    await delay(150, undefined, { signal })
    return { order: number, ...found }
  }
  return tool({ name, description, input: order, readOnly: true, run })
}

/** Each answer of the script follows from the dialogue alone, so it is the same in any process, after any crash. */
function answer(messages: readonly Message[]) {
  const begun = messages.findLastIndex((message) => message.role === 'user')
  const asked = messages[begun]
  const number = Number(/\d+/.exec(JSON.stringify(asked?.role === 'user' ? asked.content : ''))?.[0] ?? 42)
  const since = messages.slice(begun + 1)
  const refunded = since.findLast(
    (message) => message.role === 'tool' && message.consequence.action_summary.includes('payments.refund'),
  )
  if (refunded?.role === 'tool') return say(ending(refunded.consequence.consequence_label, number))
  if (since.some((message) => message.role === 'tool'))
    return together(
      say('The lamp came back and was paid for, so the customer gets 42.00 back.'),
      call('payments.refund', { order: number, cents: 4_200 }),
    )
  return together(
    say(`Let me look at order ${number} and at who placed it.`),
    call('orders.look', { order: number }),
    call('customers.look', { order: number }),
  )
}

function ending(label: string, number: number): string {
  if (label === 'SUCCESS') return `Done: order ${number} is refunded, 42.00 are on their way to the customer.`
  if (label === 'REJECTED') return `I was not allowed to refund order ${number}, so I did not.`
  if (label === 'UNKNOWN') return `It is not known yet whether order ${number} was refunded. I will not try again.`
  return `The refund of order ${number} did not happen. I leave it to a person to try again.`
}
