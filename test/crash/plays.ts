import { agent } from '../../src/runtime/define-agent.ts'
import type { ModelRequest } from '../../src/runtime/model.ts'
import { ask, breakOff, call, type Scripted, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import type { Tool } from '../../src/runtime/tools/tool.ts'
import type { ToolName } from './tools.ts'

/** One run of a play, and what its client does in addition to waiting for it. */
export interface Role {
  /** The input of the run, by which it is found in any log. */
  readonly tag: string
  /** The run whose session this one joins. */
  readonly with?: string
  readonly mode?: 'auto'
  /** No answer comes: the deadline decides. */
  readonly silent?: true
  /** It is cancelled, or its session closed, once this is so. */
  readonly stop?: { readonly by: 'cancel' | 'close'; readonly once: 'submitted' | 'waiting' | 'begun' }
  /** How it may end, if not only in success. */
  readonly ends?: readonly string[]
  /** The texts and calls of the model, answer by answer. */
  readonly script: readonly Scripted[]
  /** The same for the tasks that it hands to others. */
  readonly tasks?: Readonly<Record<string, readonly Scripted[]>>
}

export interface Play {
  readonly name: string
  readonly roles: readonly Role[]
}

const act = (name: ToolName, what: string) => call(name, { what })

const delegate = (task: string) => call('delegate.helper', { task })

const form = (title: string) =>
  ask({
    type: 'form',
    title,
    fields: [
      { name: 'address', required: true },
      { name: 'copies', type: 'number', default: 1 },
    ],
  })
const confirmation = ask({ type: 'form', title: 'Which copy?', fields: [{ name: 'copy', default: 'the first' }] })

/** A crash may let it run on before its client can stop it. */
const stopped = ['canceled', 'succeeded']

export const plays: readonly Play[] = [
  {
    name: 'errands',
    roles: [
      {
        tag: 'errands',
        script: [
          act('notes.write', 'a list'),
          act('payments.charge', 'order 1'),
          together(act('notes.read', 'the list'), act('index.put', 'order 1'), act('mail.send', 'receipt 1')),
          // The action of the second answer once more: its key is taken.
          act('payments.charge', 'order 1'),
          together(say('x'.repeat(5_000)), act('ledger.post', 'order 1'), act('payments.bounce', 'order 2')),
          act('fax.send', 'receipt 1'),
          say('All errands are run.'),
        ],
      },
    ],
  },
  {
    name: 'approvals',
    roles: [
      {
        tag: 'approvals',
        script: [
          together(act('payments.refund', 'order 3'), act('accounts.delete', 'jo'), form('Where to?')),
          together(act('payments.refund', 'order 4'), act('payments.charge', 'order 5'), act('notes.read', 'all')),
          form('Once more: where to?'),
          say('Approved and done.'),
        ],
      },
    ],
  },
  {
    name: 'stopped',
    roles: [
      {
        tag: 'aborted',
        stop: { by: 'cancel', once: 'begun' },
        ends: stopped,
        script: [act('rockets.launch', 'one'), say('Up.')],
      },
      { tag: 'next', with: 'aborted', script: [act('payments.charge', 'order 6'), say('Charged.')] },
      {
        tag: 'unwanted',
        with: 'aborted',
        stop: { by: 'cancel', once: 'submitted' },
        ends: stopped,
        script: [say('Too late.')],
      },
      {
        tag: 'withdrawn',
        stop: { by: 'cancel', once: 'waiting' },
        ends: ['canceled'],
        script: [together(act('payments.refund', 'order 7'), act('notes.write', 'why'), form('Why?')), say('Why not.')],
      },
    ],
  },
  {
    name: 'unattended',
    roles: [
      {
        tag: 'auto',
        mode: 'auto',
        // There is no one to ask about an action whose worker died.
        ends: ['succeeded', 'failed'],
        script: [
          together(act('accounts.delete', 'jo'), confirmation),
          // Another session sends the same: that is another action.
          act('mail.send', 'receipt 1'),
          act('payments.charge', 'order 8'),
          say('No person was needed.'),
        ],
      },
      {
        tag: 'silence',
        silent: true,
        script: [
          together(act('payments.refund', 'order 9'), confirmation),
          act('index.put', 'order 9'),
          say('So be it.'),
        ],
      },
    ],
  },
  {
    name: 'closing',
    roles: [
      {
        tag: 'closed',
        stop: { by: 'close', once: 'begun' },
        ends: stopped,
        script: [act('rockets.launch', 'two'), say('Up.')],
      },
      { tag: 'left', with: 'closed', ends: stopped, script: [say('Too late.')] },
    ],
  },
  {
    name: 'delegated',
    roles: [
      {
        tag: 'shared',
        script: [together(delegate('collect'), delegate('report')), act('payments.charge', 'order 10'), say('Shared.')],
        tasks: {
          collect: [act('payments.charge', 'order 11'), act('payments.refund', 'order 12'), say('Collected.')],
          report: [act('mail.send', 'report 2'), say('Reported.')],
        },
      },
      {
        tag: 'recalled',
        stop: { by: 'cancel', once: 'begun' },
        ends: stopped,
        script: [together(act('notes.write', 'a plan'), delegate('wait')), say('Never.')],
        tasks: { wait: [act('payments.refund', 'order 13'), say('Never.')] },
      },
    ],
  },
]

/** The agents of one life: one that runs for clients, and one that it hands tasks to. */
export function createAgents(roles: readonly Role[], tools: readonly Tool[], hindrances: Hindrances = {}) {
  const { prepare, beforeDelta, breaks } = hindrances
  const model = createModel(roles, breaks, beforeDelta)
  return {
    clerk: agent({ role: 'clerk', model, tools, delegates: ['helper'] }),
    helper: agent({ role: 'helper', model, tools, ...(prepare === undefined ? {} : { prepare }) }),
  }
}

/** The failures of agents, at any moment. */
export interface Hindrances {
  readonly prepare?: () => Promise<void>
  readonly beforeDelta?: (index: number, signal: AbortSignal) => Promise<void>
  /** Whether the next stream breaks in the middle. */
  readonly breaks?: () => boolean
}

/** Plays each role by its script. An action that was tried and did not happen is tried once more; then it goes on. */
function createModel(roles: readonly Role[], breaks = () => false, beforeDelta?: Hindrances['beforeDelta']) {
  const scripts = new Map(roles.flatMap(({ tag, script, tasks = {} }) => [[tag, script], ...Object.entries(tasks)]))
  return scriptedModel(
    ({ messages }) => {
      const from = messages.findLastIndex((m) => m.role === 'user' && scripts.has(String(m.content)))
      const asked = messages[from]
      const script = asked?.role === 'user' ? scripts.get(String(asked.content)) : undefined
      const answer = next(script ?? [], messages.slice(from + 1))
      return breaks() ? breakOff('It broke.', { text: 'Well' }) : answer
    },
    beforeDelta === undefined ? {} : { beforeDelta, pieces: 2 },
  )
}

function next(script: readonly Scripted[], messages: ModelRequest['messages']): Scripted {
  const failed = new Set<string>()
  for (const message of messages)
    if (message.role === 'tool' && /did not happen/.test(message.consequence.error_message ?? ''))
      failed.add(message.call_id)

  let step = 0
  let again: Scripted | undefined
  for (const message of messages) {
    if (message.role !== 'assistant' || message.partial === true) continue
    const lost = message.calls.filter(({ call_id }) => failed.has(call_id))
    again = lost.length > 0 && again === undefined ? { text: '', calls: lost } : undefined
    if (again === undefined) step += 1
  }
  return again ?? script[step] ?? say('There is nothing more to say.')
}
