import { agent, type Json, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'

/** The world outside: an effect there stays, also when the process that caused it is killed. */
export interface Outside {
  /** Does it and notes its key. */
  act(what: string, key: string, result: Json): Promise<Json> | Json
  /** The result of the action with this key, if it happened. */
  find(key: string): Json | undefined
}

/** A plan of six tasks: the second and the third run side by side, and a rule puts a review before the fourth. */
export const plan = {
  title: 'Recall batch 7',
  success_criteria: ['Order 42 is refunded, its customer knows, and the report says so.'],
  tasks: [
    { id: 'collect', command: 'cmd_collect', intent: 'Find the orders of batch 7.', owner: 'clerk' },
    { id: 'check', command: 'cmd_check', intent: 'Check what was paid.', owner: 'clerk', depends_on: ['collect'] },
    { id: 'draft', command: 'cmd_draft', intent: 'Draft the letter.', owner: 'clerk', depends_on: ['collect'] },
    {
      id: 'refund',
      command: 'cmd_refund',
      intent: 'Pay order 42 back.',
      owner: 'cashier',
      priority: 'high',
      depends_on: ['check'],
    },
    { id: 'mail', command: 'cmd_mail', intent: 'Send the letter.', owner: 'clerk', depends_on: ['draft', 'refund'] },
    { id: 'report', command: 'cmd_report', intent: 'Say what was done.', owner: 'clerk', depends_on: ['mail'] },
  ],
}

export const goal = {
  goal: 'Put batch 7 right: refund order 42 and tell the customer.',
  plan,
  auto: true,
  critic: 'critic',
  budget: { tokens: 10_000, toolCalls: 20, iterations: 3 },
  // A second start, after a crash, finds the same goal.
  idempotencyKey: 'recall of batch 7',
}

export function createCast(outside: Outside) {
  const list = tool({
    name: 'orders.list',
    input: z.object({ batch: z.int() }),
    readOnly: true,
    run: () => [{ order: 42, cents: 4_200 }],
  })
  const refund = tool({
    name: 'payments.refund',
    input: z.object({ order: z.int(), cents: z.int() }),
    irreversible: true,
    run: ({ order }, { idempotencyKey }) => outside.act('refund', idempotencyKey, { refunded: order }),
    probe: async (key) => found(outside, key),
  })
  const send = tool({
    name: 'mail.send',
    input: z.object({ to: z.string() }),
    irreversible: true,
    run: ({ to }, { idempotencyKey }) => outside.act('mail', idempotencyKey, { sent: to }),
    probe: async (key) => found(outside, key),
  })

  return {
    clerk: agent({ role: 'clerk', tools: [list, send], model: byTask(clerkSays) }),
    cashier: agent({ role: 'cashier', tools: [refund], model: byTask(cashierSays) }),
    critic: agent({
      role: 'critic',
      model: scriptedModel((request) => say(JSON.stringify(critique(askedIn(request))))),
    }),
  }
}

/** Tools that can tell whether something happened: a crash in the middle then needs no person. */
function found(outside: Outside, key: string) {
  const result = outside.find(key)
  return result === undefined ? { outcome: 'did_not' as const } : { outcome: 'happened' as const, result }
}

const clerkSays: Script = {
  collect: [call('orders.list', { batch: 7 }), say('Batch 7 holds order 42.')],
  check: [call('orders.list', { batch: 7 }), say('Order 42 was paid with 42.00.')],
  draft: [say('Dear customer, we have paid your 42.00 back.')],
  mail: [call('mail.send', { to: 'customer of order 42' }), say('The letter is on its way.')],
  // The planted failure: the first report forgets the letter. Told of that, it is right.
  report: (asked) => [
    say(asked.includes('this was found') ? 'Order 42 was refunded, and its customer told.' : 'Order 42 was refunded.'),
  ],
}

const cashierSays: Script = {
  refund: [call('payments.refund', { order: 42, cents: 4_200 }), say('42.00 went back to order 42.')],
}

function critique(asked: string): Json {
  if (/report .*told\./.test(asked)) return { summary: 'Refunded, told, reported.', findings: [] }
  return {
    summary: 'The report leaves something out.',
    findings: [
      {
        severity: 'error',
        category: 'completeness',
        title: 'The letter is missing',
        description: 'The report does not say that the customer was told.',
        evidence: ['report'],
        task: 'report',
        suggested_fix: 'Say that the letter was sent.',
      },
    ],
  }
}

type Answers = readonly ReturnType<typeof say>[]
type Script = Readonly<Record<string, Answers | ((asked: string) => Answers)>>

/** Plays the script of whichever task it is given. It repeats an action that was tried and did not happen. */
function byTask(script: Script) {
  return scriptedModel((request, answered) => {
    const asked = askedIn(request)
    const part = script[/^Task (\S+):/.exec(asked)?.[1] ?? ''] ?? []
    const answers = typeof part === 'function' ? part(asked) : part
    const failed = request.messages.filter((m) => m.role === 'tool' && m.consequence.consequence_label === 'FAILED')
    return answers[answered - failed.length] ?? say('Nothing to do.')
  })
}

function askedIn({ messages }: { readonly messages: readonly { role: string; content?: Json }[] }): string {
  const last = messages.findLast(({ role }) => role === 'user')
  return String(last?.content ?? '')
}
