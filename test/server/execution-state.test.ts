import { expect } from 'vitest'
import { say } from '../../src/runtime/scripted-model.ts'
import { sessionEvent } from '../../src/wire/session-event.ts'
import { createBackendWorld, form, refund, supportAgent } from '../support/backend.ts'
import { type Play, scenario } from '../support/scenario.ts'
import { startStreams } from '../support/stream-server.ts'

const worried = { primary: 'worry', category: 'negative', confidence: 0.8 }

type Scene = Awaited<ReturnType<typeof open>>

async function open() {
  const { world, backend } = await createBackendWorld({
    support: supportAgent([{ ...refund, text: 'I pay it back. ', emotion: worried }, form, say('Done.')]),
  })
  const { read } = await startStreams({ backend, timers: world.hand.timers, warn: console.error })
  const { sessionId } = await world.sw.sessions.create({ agent: 'support' })
  return { world, session_id: sessionId, read: () => read(`/api/sessions/${sessionId}/stream`) }
}

/** A refund that someone approves, a form that someone fills in, and the end. */
async function play({ world, session_id }: Scene) {
  const run = await world.sw.runs.start({
    agent: 'support',
    sessionId: session_id,
    input: 'Refund order 42.',
    mode: 'interactive',
  })
  await world.sw.idle()
  for (const reply of [{ decision: 'approve' }, { action: 'approve', data: { choice: 'red' } }]) {
    const [question] = await world.sw.inbox.list()
    await world.sw.inbox.reply(question?.interaction_id ?? '', { reply })
    await world.sw.idle()
  }
  return run
}

const on =
  (act: (scene: Scene) => Promise<void>): Play =>
  async ({ record }) => {
    const scene = await open()
    await act(scene)
    record(await scene.world.runes(scene.session_id))
    await scene.world.end()
  }

interface Told {
  readonly type: string
  readonly event_id: number
  readonly payload: Readonly<Record<string, unknown>>
}

async function hear(reader: ReturnType<Scene['read']>): Promise<readonly Told[]> {
  await reader.until('the end of the run', () => reader.heard.at(-1)?.type === 'done')
  return reader.heard.map(({ data }) => JSON.parse(data) as Told)
}

scenario(
  'OB-17',
  'SSE event on state transition',
  on(async (scene) => {
    // GIVEN a client that listens while an irreversible call waits, is approved and succeeds
    const reader = scene.read()
    await reader.answered()
    await play(scene)
    const states = (await hear(reader)).filter(({ type }) => type === 'execution_state')

    // THEN each move of each contract was told once, when it happened and in its order
    const moves = (await scene.world.runes(scene.session_id)).filter((rune) => rune.kind === 'contract.moved')
    expect(states.map(({ event_id }) => event_id)).toEqual(moves.map((rune) => rune.event_id))
    expect(moves.map(({ from, to }) => `${from} → ${to}`)).toContain('running → completed')

    // AND the move that completed it says all there is to say
    const [opened] = (await scene.world.runes(scene.session_id)).filter((rune) => rune.kind === 'contract.opened')
    const done = moves.find((move) => move.execution_id === opened?.execution_id && move.to === 'completed')
    expect(states.find(({ event_id }) => event_id === done?.event_id)?.payload).toEqual({
      execution_id: opened?.execution_id,
      action_summary: 'payments.refund',
      from_status: 'running',
      to_status: 'completed',
      trigger: 'succeed',
      actor_category: 'tool',
      is_terminal: true,
      is_resumable: false,
      has_side_effects: true,
      timestamp: done?.at,
      waiting_reason: null,
      error_kind: null,
      interaction_id: null,
    })
    // AND the one that suspended it takes its flags from where it led
    expect(states[1]?.payload).toMatchObject({
      ...{ to_status: 'waiting', trigger: 'suspend', is_terminal: false, is_resumable: true, has_side_effects: false },
    })
  }),
)

scenario(
  'OB-18',
  'SSE event is optional for consumers',
  on(async (scene) => {
    // GIVEN a client that knows nothing but the conversation
    const simple = scene.read()
    const said: string[] = []
    const asked: string[] = []
    const results: unknown[] = []
    const moods: unknown[] = []
    const heeds = new Set(['text', 'emotion', 'ecs', 'tool_result', 'done', 'error'])
    await simple.answered()

    // WHEN contracts move and it is told of that, too
    await play(scene)
    const all = await hear(simple)
    expect(all.filter(({ type }) => type === 'execution_state').length).toBeGreaterThan(4)

    // THEN what it heeds tells it the whole conversation, whatever else comes in between
    for (const { type, payload } of all.filter(({ type }) => heeds.has(type))) {
      if (type === 'text') said.push(String(payload.content))
      if (type === 'emotion') moods.push(payload)
      if (type === 'ecs') asked.push(String(payload.id))
      if (type === 'tool_result') results.push(payload.result)
    }
    expect(said).toEqual(['I pay it back. ', 'Done.'])
    expect(moods).toMatchObject([worried])
    const runes = await scene.world.runes(scene.session_id)
    const questions = runes.filter((rune) => rune.kind === 'interaction.opened')
    expect(asked).toEqual(questions.map((rune) => rune.interaction_id))
    expect(results).toEqual([{ refund: 'r-42' }])
    expect(all.at(-1)?.payload).toMatchObject({ status: 'succeeded', result: 'Done.' })
    // AND every event has a name that a client can leave alone
    for (const event of all) expect(sessionEvent.safeParse(event).error?.issues).toBeUndefined()
  }),
)
