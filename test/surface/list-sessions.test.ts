import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { agent } from '../../src/runtime/define-agent.ts'
import { ask, breakOff, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { getSession, listSessions } from '../../src/surface/operations/sessions.ts'
import { createBackendWorld } from '../support/backend.ts'
import { writable } from '../support/writable.ts'

/** Forty sessions of two agents: some paused, some failed, some without a message. */
async function crowd(store: 'memory' | 'sqlite') {
  const agents = {
    well: agent({ role: 'well', model: scriptedModel(() => say('Fine.')) }),
    ill: agent({ role: 'ill', model: scriptedModel(() => breakOff('down', { retryable: false })) }),
    idle: agent({ role: 'idle', model: scriptedModel(() => say('Fine.')) }),
  }
  const at = await createBackendWorld(agents, { store })
  onTestFinished(() => at.world.end())
  const { sw, hand } = at.world
  for (let n = 0; n < 40; n++) {
    const name = n % 4 === 0 ? 'ill' : 'well'
    const { sessionId } = await sw.sessions.create({ agent: name })
    await hand.advance(1)
    if (n % 5 === 4) continue
    await (await sw.runs.start({ agent: name, input: 'Go.', sessionId })).result()
    if (n % 7 === 0) await sw.sessions.pause(sessionId)
    if (n % 11 === 0) await sw.sessions.close(sessionId)
  }
  return at
}

describe.each(['memory', 'sqlite'] as const)('on %s', (store) => {
  test('list_sessions: a steer and a redaction bring a session to the top, and the session itself says the same', async () => {
    const form = ask({ title: 'Which one?', fields: [{ name: 'choice', required: true }] })
    const agents = {
      asks: agent({ role: 'asks', model: scriptedModel([form, say('Fine.')]) }),
      well: agent({ role: 'well', model: scriptedModel(() => say('Fine.')) }),
    }
    const { world, client } = await createBackendWorld(agents, { store })
    onTestFinished(() => world.end())
    const { sw, hand } = world
    const asking = await sw.runs.start({ agent: 'asks', input: 'Go.' })
    await sw.idle()
    const other = async () => {
      await hand.advance(2_000)
      const { sessionId } = await sw.runs.start({ agent: 'well', input: 'Go.' })
      await sw.idle()
      await hand.advance(2_000)
      return sessionId
    }
    const top = async () => {
      const { items } = await client.call(listSessions, { query: { limit: 10 } })
      for (const item of items) {
        const { session_id } = item
        const alone = await client.call(getSession, { params: { session_id } })
        expect(alone).toMatchObject(item)
        expect(item.updated_at).toBe((await world.runes(session_id))[item.updated_event_id - 1]?.at)
      }
      return items[0]
    }

    expect(await top()).toMatchObject({ session_id: asking.sessionId })
    const second = await other()
    expect(await top()).toMatchObject({ session_id: second })
    await sw.runs.steer(asking.runId, 'Another one.')
    const steered = (await world.runes(asking.sessionId)).findLast(({ kind }) => kind === 'run.requested')
    expect(await top()).toMatchObject({ session_id: asking.sessionId, updated_event_id: steered?.event_id })

    const third = await other()
    expect(await top()).toMatchObject({ session_id: third })
    const answered = (await world.runes(second)).find(({ kind }) => kind === 'turn.completed')
    await sw.sessions.redact(second, answered?.event_id ?? 0, 'private')
    const redacted = { session_id: second, updated_event_id: (await world.runes(second)).length }
    expect(await top()).toMatchObject(redacted)
    await writable(sw).rebuild()
    expect(await top()).toMatchObject(redacted)
  })

  test('F-54 list_sessions: every filter finds exactly the sessions that fit, page by page', async () => {
    const { client } = await crowd(store)
    const list = async (filter: object, limit: number) => {
      const items = []
      let cursor: string | null = null
      do {
        const query: object = { ...filter, limit, ...(cursor !== null && { cursor }) }
        const page: { items: readonly { session_id: string }[]; next_cursor: string | null } = await client.call(
          listSessions,
          { query },
        )
        expect(page.items.length === limit || page.next_cursor === null).toBe(true)
        items.push(...page.items)
        cursor = page.next_cursor
      } while (cursor !== null)
      return items.map(({ session_id }) => session_id)
    }
    const all = (await client.call(listSessions, { query: { limit: 200 } })).items
    expect(all).toHaveLength(40)
    for (const state of [undefined, 'created', 'active', 'paused', 'closed', 'archived'] as const)
      for (const status of [undefined, 'succeeded', 'failed', 'running'] as const)
        for (const name of [undefined, 'well', 'ill', 'idle'] as const) {
          const filter = { ...(state && { state }), ...(status && { status }), ...(name && { agent: name }) }
          const expected = all
            .filter((item) => state === undefined || item.state === state)
            .filter((item) => status === undefined || item.status === status)
            .filter((item) => name === undefined || item.agent === name)
            .map(({ session_id }) => session_id)
          const found = await list(filter, 7)
          expect(found.toSorted(), JSON.stringify(filter)).toEqual(expected.toSorted())
        }
  })

  test('F-54 list_sessions: a filter that fits nothing reads no row, and any other no more than its page needs', async () => {
    const { client, world } = await crowd(store)
    const rows = vi.spyOn(world.sw.runelog, 'rows')
    const read = async (query: object) => {
      rows.mockClear()
      const { items } = await client.call(listSessions, { query })
      const lists = await Promise.all(rows.mock.results.map(({ value }) => value as Promise<readonly unknown[]>))
      return { items: items.length, read: lists.flat().length }
    }
    for (const nothing of [{ agent: 'unknown' }, { state: 'archived' }, { state: 'paused', agent: 'idle' }])
      expect(await read(nothing), JSON.stringify(nothing)).toEqual({ items: 0, read: 0 })
    const few = await read({ agent: 'well', state: 'active', status: 'succeeded', limit: 3 })
    expect(few).toEqual({ items: 3, read: 4 })
  })
})
