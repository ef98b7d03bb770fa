import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { checkFcmp } from '../../src/observation/fcmp-check.ts'
import { say } from '../../src/runtime/scripted-model.ts'
import { createBackendWorld, form, refund, supportAgent } from '../support/backend.ts'
import { startStreams } from '../support/stream-server.ts'

interface Item {
  readonly properties: {
    readonly event: { readonly const: string }
    readonly data: { readonly contentSchema: { readonly $ref: string } }
  }
}

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      { get: { responses: { 200: { content: Record<string, { schema: { items: { oneOf: readonly Item[] } } }> } } } }
    >
  >
  readonly components: { readonly schemas: Readonly<Record<string, Parameters<typeof z.fromJSONSchema>[0]>> }
}

/** The documented data of each event of a stream. */
function published({ paths, components }: Document, path: string): ReadonlyMap<string, z.ZodType> {
  const { schema } = paths[path]?.get.responses[200].content['text/event-stream'] ?? {}
  return new Map(
    schema?.items.oneOf.map(({ properties: { event, data } }) => {
      const name = data.contentSchema.$ref.replace('#/components/schemas/', '')
      return [event.const, z.fromJSONSchema(components.schemas[name] ?? false)]
    }),
  )
}

async function open() {
  const mood = { primary: 'worry', category: 'negative', confidence: 0.8 }
  const { world, backend } = await createBackendWorld({
    support: supportAgent([{ ...refund, text: 'I pay it back. ', emotion: mood }, form, say('Done.')]),
    broken: supportAgent([{ text: 'Well', calls: [], error: { errorType: 'x', message: 'Gone.', retryable: false } }]),
  })
  onTestFinished(() => world.end())
  const streams = await startStreams({ backend, timers: world.hand.timers, warn: console.error })
  const document = (await (await streams.get('/api/openapi.json')).json()) as Document
  return { world, document, ...streams }
}

test('OpenAPI: the document with the schemas of all streams is valid', async () => {
  const { document } = await open()
  const result = await new Validator().validate({ ...structuredClone(document) })
  expect(result.errors).toBeUndefined()
})

test('OpenAPI: every event of every stream fits the schema that the document has for it', async () => {
  const { world, document, read } = await open()
  const { sessionId } = await world.sw.sessions.create({ agent: 'support' })
  const summaries = read('/api/summaries/stream')
  const session = read(`/api/sessions/${sessionId}/stream?runes=1`)
  await Promise.all([summaries.answered(), session.answered()])
  const run = await world.sw.runs.start({ agent: 'support', sessionId, input: 'Refund order 42.' })
  const conversation = read(`/api/runs/${run.runId}/events`)
  await world.sw.idle()
  for (const reply of [{ decision: 'approve' }, { action: 'approve', data: { choice: 'red' } }]) {
    const [question] = await world.sw.inbox.list()
    await world.sw.inbox.reply(question?.interaction_id ?? '', { reply })
    await world.sw.idle()
  }
  const failed = await world.sw.runs.start({ agent: 'broken', sessionId, input: 'Go.' })
  await failed.result()
  await conversation.closed()
  await session.until('both ends', () => session.heard.filter(({ type }) => type === 'done').length === 2)
  await summaries.until('a summary', () => summaries.heard.some(({ type }) => type === 'summary'))
  expect(checkFcmp(conversation.heard.map(({ data }) => JSON.parse(data)))).toEqual([])

  const paths = {
    '/api/sessions/{session_id}/stream': session,
    '/api/runs/{run_id}/events': conversation,
    '/api/summaries/stream': summaries,
  }
  for (const [path, reader] of Object.entries(paths)) {
    const schemas = published(document, path)
    for (const { type, data } of reader.heard) {
      const event = JSON.parse(data) as Record<string, unknown>
      expect(schemas.get(type)?.safeParse(event).error?.issues, `${path} ${type} ${data}`).toBeUndefined()
      // A schema that takes anything would take this, too.
      for (const name of Object.keys(event).filter((field) => field !== 'run_id'))
        if (type !== 'rune' && type !== 'delta')
          expect(schemas.get(type)?.safeParse({ ...event, [name]: Symbol('no JSON') }).success, name).toBe(false)
    }
  }
  expect(new Set(session.heard.map(({ type }) => type))).toEqual(
    new Set(published(document, '/api/sessions/{session_id}/stream').keys()),
  )
})
