import { z } from 'zod'
import { drained } from '../../src/adapters/system/testing.ts'
import { openStore } from '../../src/app/open-store.ts'
import type { Json } from '../../src/kernel/json.ts'
import { isTerminal } from '../../src/kernel/machine.ts'
import { runMachine } from '../../src/machines/run.ts'
import { subjects } from '../../src/runelog/models.ts'
import type { Rune } from '../../src/runes/rune.ts'
import { type Agent, agent } from '../../src/runtime/define-agent.ts'
import type { ModelRequest } from '../../src/runtime/model.ts'
import { ask, breakOff, call, type Scripted, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import type { ToolContext } from '../../src/runtime/tools/tool.ts'
import { readServerSent } from '../../src/wire/server-sent.ts'
import { connect } from '../support/dying-runelog.ts'
import { createChance } from '../support/sampling.ts'
import { secret, serveStreams } from '../support/served-streams.ts'
import { createWorld } from '../support/world.ts'

/** A run that is over: its outcome, the events of its readers, and its requests. */
export interface Lived {
  readonly run_id: string
  readonly status: string
  /** The stream as a client hears it live over HTTP. */
  readonly heard: readonly unknown[]
  /** The same as a list, after the end. */
  readonly history: readonly unknown[]
  readonly rounds: readonly Round[]
  readonly facts: readonly string[]
}

const form = { title: 'Which size?', fields: [{ name: 'size', type: 'number', required: true }] }
const usual = { title: 'Which colour?', fields: [{ name: 'colour', required: true, default: 'red' }] }

/** The possible answers of a model. */
const rounds = {
  look: call('shop.look'),
  refund: call('payments.refund', { order: 42 }),
  form: ask(form),
  forms: together(ask(form), ask(usual)),
  mixed: together(call('payments.refund', { order: 7 }), ask(form)),
  asks: call('shop.order'),
  asks_usual: call('shop.order', { usual: true }),
  hasty: call('shop.hasty'),
  lost: call('payments.pay'),
  held: call('shop.held'),
  held_payment: call('payments.held'),
  says: say('Done.'),
  silent: say(''),
  breaks: breakOff('The model is gone.', { retryable: false }),
  breaks_often: breakOff('The line is bad.'),
} as const satisfies Readonly<Record<string, Scripted>>

export type Round = keyof typeof rounds

const reply_timeout_ms = 10_000

type Chance = () => number
const pick = <T>(of: readonly T[], chance: Chance): T => of[Math.floor(chance() * of.length)] as T

const middles: readonly Round[] = ['look', 'refund', 'form', 'forms', 'mixed', 'asks', 'asks_usual', 'hasty', 'lost']
const held: readonly Round[] = ['held', 'held_payment']
const ends: readonly Round[] = ['says', 'says', 'says', 'says', 'silent', 'breaks', 'breaks_often']

function plan(chance: Chance): readonly Round[] {
  const some = Array.from({ length: Math.floor(chance() * 4) }, () => pick([...middles, ...middles, ...held], chance))
  return [...some, pick(ends, chance)]
}

/** The rounds are written into the input, so the same agent plays them in every process. */
function played({ messages }: ModelRequest, answered: number): Scripted {
  const [first] = messages
  const given = String(first?.role === 'user' ? first.content : '').split(' ') as Round[]
  return rounds[given[answered] ?? 'says'] ?? rounds.says
}

/** Tools that a person has to let go on. */
function createHeld() {
  const waiting = new Set<() => void>()
  return {
    wait: (_: unknown, { signal }: ToolContext) =>
      new Promise<Json>((resolve) => {
        waiting.add(() => resolve('let go'))
        signal.addEventListener('abort', () => resolve('aborted'), { once: true })
      }),
    letGo() {
      for (const resolve of waiting) resolve()
      waiting.clear()
    },
  }
}

/** `edition` changes the definition of a tool, and an approval of the edition before is void. */
function agentOf({ wait }: ReturnType<typeof createHeld>, edition = 1): Agent {
  const input = z.looseObject({})
  const asking = async ({ usual: isUsual }: { usual?: unknown }, { ask: question }: ToolContext) =>
    ((await question?.(isUsual === true ? usual : form)) ?? null) as Json
  return agent({
    role: 'worker',
    model: scriptedModel(played),
    tools: [
      tool({ name: 'shop.look', input, readOnly: true, run: () => 'seen' }),
      tool({ name: 'shop.order', input, idempotent: true, approval: 'never', timeoutMs: 3_600_000, run: asking }),
      tool({
        name: 'shop.hasty',
        input,
        idempotent: true,
        approval: 'never',
        run: async (_, { ask: question }: ToolContext) => {
          void question?.(form)
          return 'did not wait'
        },
      }),
      tool({
        name: 'payments.refund',
        description: `Pays money back, edition ${edition}.`,
        input,
        irreversible: true,
        approval: 'always',
        dedupe: false,
        run: () => 'refunded',
      }),
      tool({
        name: 'payments.pay',
        input,
        irreversible: true,
        approval: 'never',
        dedupe: false,
        run: () => {
          throw new Error('The line broke.')
        },
      }),
      tool({ name: 'shop.held', input, idempotent: true, approval: 'never', timeoutMs: 3_600_000, run: wait }),
      tool({
        name: 'payments.held',
        input,
        irreversible: true,
        approval: 'never',
        dedupe: false,
        timeoutMs: 3_600_000,
        run: wait,
      }),
    ],
  })
}

/** The tally entries that a rune of a run gives. */
function factsOf({ kind, payload, actor, to, execution_id }: Rune): readonly string[] {
  if (kind === 'tool.denied') return [`an approval is denied by ${actor}`]
  if (kind === 'contract.moved' && to === 'rejected') return ['a step is rejected']
  if (kind === 'turn.error' && payload.retryable) return ['a turn is tried again']
  if (kind === 'session.suspended' || kind === 'session.paused') return [kind]
  if (kind === 'interaction.opened' && payload.prompt.includes('void')) return ['an approval is void and asked again']
  if (kind === 'interaction.answered' && execution_id !== undefined) return [`a person says ${wordOf(payload.reply)}`]
  return []
}

function wordOf(reply: Json): string {
  const { decision, action, outcome } = Object(reply) as Record<string, string>
  return decision ?? action ?? outcome ?? ''
}

/** The replies of a person to a question of each kind. */
const replies: Readonly<Record<string, readonly Json[]>> = {
  approval: [{ decision: 'approve' }, { decision: 'deny' }],
  ecs: [
    { action: 'approve', data: { size: 7, colour: 'blue' } },
    { action: 'approve', data: { size: 7 } },
    { action: 'approve', data: { colour: 'blue' } },
    { action: 'reject', reason: 'no' },
  ],
  settlement: [{ outcome: 'happened' }, { outcome: 'did_not' }, { outcome: 'leave' }],
}

/**
 * Some runs on one store, in one process after the other, with a person who
 * does what the dice say: answers, waits, stops, steers, pauses, kills the
 * process, changes the agent or takes it away. Each run has a reader from the
 * start, over HTTP, and comes to its end.
 */
export async function liveThrough(seed: number, count: number): Promise<readonly Lived[]> {
  const chance = createChance(seed)
  const tools = createHeld()
  const opened = await openStore('memory:')
  let connection = connect(opened.runelog)
  let edition = 1
  const fresh = () => {
    connection = connect(opened.runelog)
    return { ...opened, runelog: connection.runelog }
  }
  const world = await createWorld({
    store: fresh(),
    agents: { main: agentOf(tools) },
    settings: { requeueLimit: 1, errorThreshold: 2, replyTimeoutMs: reply_timeout_ms },
    maxConcurrentRuns: 3,
    warn: () => undefined,
  })
  const { hand } = world
  const backend = { runelog: opened.runelog, listen: () => () => undefined, now: hand.clock.now }
  const server = await serveStreams({ backend, timers: hand.timers, warn: () => undefined })
  const get = (path: string) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { authorization: `Bearer ${secret}` } })

  let recorded = 0
  const unwatch = opened.runelog.watch(() => {
    recorded += 1
  })
  /** Nothing moves by itself any more, as long as time stands still. */
  async function quiet() {
    for (let calm = 0, seen = recorded; calm < 6; calm++) {
      await drained()
      if (seen !== recorded) calm = 0
      seen = recorded
    }
  }
  /** Lets time pass until it is done: a process that ends, or a session that closes, waits for its tools. */
  async function passing<T>(act: Promise<T>): Promise<T> {
    let isOver = false
    const over = act.finally(() => {
      isOver = true
    })
    over.catch(() => undefined)
    await quiet()
    while (!isOver) {
      await hand.advance(1_000)
      await quiet()
    }
    return over
  }
  /** A refusal is an answer, too. */
  const trying = (act: Promise<unknown>) => passing(act).catch(() => undefined)

  async function read(run_id: string): Promise<readonly unknown[]> {
    const answer = await get(`/api/runs/${run_id}/events`)
    const heard: unknown[] = []
    for await (const { data } of readServerSent(answer.body as unknown as AsyncIterable<Uint8Array>, () => undefined))
      heard.push(JSON.parse(data))
    return heard
  }

  async function begin() {
    const given = plan(chance)
    const run = await world.sw.runs.start({
      agent: 'main',
      input: given.join(' '),
      mode: chance() < 0.1 ? 'auto' : 'interactive',
      interactiveRequireUserReply: chance() < 0.4,
    })
    const reader = read(run.runId)
    if (chance() < 0.1) await trying(world.sw.runs.cancel(run.runId, 'too late'))
    return { ...run, given, reader }
  }
  const runs: Awaited<ReturnType<typeof begin>>[] = []
  for (let i = 0; i < count; i++) runs.push(await begin())

  const statusOf = async (run_id: string) => (await opened.runelog.row(subjects, run_id))?.value.state ?? ''
  let living: readonly (typeof runs)[number][] = runs
  const open = async () => {
    const all = await Promise.all(living.map(async (run) => ({ run, status: await statusOf(run.runId) })))
    living = all.filter(({ status }) => !isTerminal(runMachine, status)).map(({ run }) => run)
    return living
  }
  async function answer() {
    const inbox = await world.sw.inbox.list()
    if (inbox.length === 0) return
    const { interaction_id, interaction_kind } = pick(inbox, chance)
    const expected = chance() < 0.1 ? { expected_waiting: ['exe_1', 'exe_2', 'exe_3'] } : {}
    await trying(
      world.sw.inbox.reply(interaction_id, { reply: pick(replies[interaction_kind] ?? [], chance), ...expected }),
    )
  }
  /**
   * Answers everything that one run asked while its session is paused: after the first answer the run is queued, and
   * stays so. The next process may find another definition of what was approved.
   */
  async function answerPaused() {
    const inbox = await world.sw.inbox.list()
    const asked = Object.values(Object.groupBy(inbox, ({ run_id }) => run_id ?? ''))
    const [most = []] = asked.toSorted((a = [], b = []) => b.length - a.length || chance() - 0.5)
    const { session_id } = most[0] ?? {}
    if (session_id === undefined) return
    await trying(world.sw.sessions.pause(session_id))
    for (const { interaction_id, interaction_kind } of most.slice(chance() < 0.3 ? 1 : 0))
      await trying(world.sw.inbox.reply(interaction_id, { reply: pick(replies[interaction_kind] ?? [], chance) }))
    if (chance() < 0.3) await hand.advance(reply_timeout_ms)
    if (chance() < 0.3) await changeTool()
    await quiet()
    await trying(world.sw.sessions.resume(session_id))
  }
  const agents = () => ({ main: agentOf(tools, edition), other: agentOf(tools) })
  /** The process ends in good order; in the next one the definition of a tool is another. */
  async function changeTool() {
    edition += 1
    await passing(world.restart({ store: fresh(), agents: agents() }))
  }
  const onOne = (act: (run: (typeof runs)[number]) => Promise<unknown>) => async () => {
    const all = await open()
    if (all.length > 0) await trying(act(pick(all, chance)))
  }
  const acts: readonly (readonly [number, () => Promise<unknown>])[] = [
    [10, answer],
    [5, answerPaused],
    [3, () => hand.advance(2_000)],
    [2, () => hand.advance(reply_timeout_ms)],
    [3, async () => tools.letGo()],
    [2, onOne((run) => world.sw.runs.cancel(run.runId, 'enough'))],
    [1, onOne((run) => world.sw.runs.interrupt(run.runId, 'stop'))],
    [1, onOne((run) => world.sw.runs.steer(run.runId, 'says'))],
    [2, onOne((run) => world.sw.sessions.reset(run.sessionId))],
    [1, onOne((run) => world.sw.sessions.close(run.sessionId))],
    // It is killed where it stands.
    [
      2,
      async () => {
        await connection.die()
        await world.revive({ store: fresh(), agents: agents() })
      },
    ],
    [0.5, changeTool],
    [0.5, () => passing(world.restart({ store: fresh(), agents: { other: agentOf(tools) } }))],
  ]
  const total = acts.reduce((sum, [weight]) => sum + weight, 0)
  async function act() {
    let left = chance() * total
    for (const [weight, does] of acts) {
      left -= weight
      if (left < 0) return does()
    }
  }

  await quiet()
  for (let i = 0; i < 12 * count && (await open()).length > 0; i++) {
    await act()
    await quiet()
  }
  for (const run of await open()) {
    await trying(world.sw.sessions.resume(run.sessionId))
    await trying(world.sw.runs.cancel(run.runId, 'the end'))
  }
  tools.letGo()
  await quiet()
  await hand.advance(20_000)
  await quiet()

  const lived = await Promise.all(
    runs.map(async ({ runId, sessionId, reader, given }) => {
      const facts = (await opened.runelog.read(sessionId)).flatMap(factsOf)
      const { items } = (await (await get(`/api/runs/${runId}/events/history`)).json()) as { items: unknown[] }
      return { run_id: runId, status: await statusOf(runId), heard: await reader, history: items, rounds: given, facts }
    }),
  )
  unwatch()
  await server.close()
  await passing(world.end())
  return lived
}
