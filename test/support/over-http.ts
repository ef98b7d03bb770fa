import { backendOf } from '../../src/app/backend.ts'
import type { Statewright } from '../../src/app/statewright.ts'
import type { Json } from '../../src/kernel/json.ts'
import type { Reply } from '../../src/runtime/commands/reply.ts'
import type { OpenInteraction } from '../../src/runtime/models/open-work.ts'
import { asOptions, asRecord } from '../../src/runtime/options.ts'
import type { RunHandle } from '../../src/runtime/run-handle.ts'
import type { Client } from '../../src/surface/client.ts'
import { answer, approve, deny, getInteraction, listInbox, settle } from '../../src/surface/operations/inbox.ts'
import {
  cancelRun,
  getRun,
  interruptRun,
  replyRun,
  runResult,
  steerRun,
  submitRun,
} from '../../src/surface/operations/runs.ts'
import {
  archiveSession,
  closeSession,
  createSession,
  pauseSession,
  resumeSession,
} from '../../src/surface/operations/sessions.ts'
import { remoteClient } from '../../src/surface/remote-client.ts'
import { checkedClient } from './backend.ts'
import { secretOf, startServer } from './server.ts'

/**
 * Puts a real server before each process of a play, and lets the play reach it
 * over HTTP only, wherever there is an operation for what it does.
 */
export function overHttp(called: Set<string> = new Set()) {
  return {
    called,
    async through(sw: Statewright, now: () => number): Promise<Statewright> {
      const key = { signer: () => ({ public_key: '00', sign: () => '11' }), publicKey: () => '00' }
      const server = await startServer(backendOf(sw, key, now))
      // A killed process does not close its server.
      server.app.server.unref()
      const pause = async () => {}
      const token = secretOf('admin')
      return remote(sw, checkedClient(remoteClient({ url: server.url, token, fetch, pause }), called), server.close)
    },
  }
}

function remote(sw: Statewright, client: Client, closeServer: () => Promise<void>): Statewright {
  const handle = (run_id: string, session_id: string): RunHandle => ({
    sessionId: session_id,
    runId: run_id,
    async *events(options) {
      yield* (await sw.runs.get(run_id)).events(options)
    },
    async result() {
      // There is nothing to wait with over HTTP but to look again; that is what streams are for.
      await (await sw.runs.get(run_id)).result()
      const { session_id: _, ...result } = await client.call(runResult, { params: { run_id } })
      return asOptions(result)
    },
    cancel: (reason) => cancel(run_id, reason),
    interrupt: (reason) => interrupt(run_id, reason),
    steer: (input) => steer(run_id, input),
  })
  const cancel = async (run_id: string, reason?: string) =>
    asOptions(await client.call(cancelRun, { params: { run_id }, body: why(reason) }))
  const interrupt = async (run_id: string, reason?: string) =>
    asOptions(await client.call(interruptRun, { params: { run_id }, body: why(reason) }))
  const steer = async (run_id: string, input: Json) =>
    asOptions(await client.call(steerRun, { params: { run_id }, body: { input } }))
  const why = (reason?: string) => (reason === undefined ? {} : { reason })

  return {
    ...sw,
    runs: {
      ...sw.runs,
      async get(run_id) {
        const { session_id } = await client.call(getRun, { params: { run_id } })
        return handle(run_id, session_id)
      },
      async start({ idempotencyKey, ...body }) {
        const submitted = await client.call(submitRun, { body: asRecord(body), ...asRecord({ idempotencyKey }) })
        return { ...handle(submitted.run_id, submitted.session_id), isRepeated: submitted.is_repeated }
      },
      show: (run_id) => client.call(getRun, { params: { run_id } }),
      cancel,
      interrupt,
      steer,
    },
    sessions: {
      ...sw.sessions,
      async create({ agent, sessionBudget: budget, title }) {
        return asOptions(await client.call(createSession, { body: asRecord({ agent, budget, title }) }))
      },
      async pause(session_id, reason) {
        await client.call(pauseSession, { params: { session_id }, body: why(reason) })
      },
      async resume(session_id) {
        await client.call(resumeSession, { params: { session_id }, body: {} })
      },
      async reset(session_id) {
        await client.call(resumeSession, { params: { session_id }, body: { reset: true } })
      },
      async replenish(session_id, budget) {
        await client.call(resumeSession, { params: { session_id }, body: { budget: asRecord(budget) } })
      },
      async close(session_id, reason) {
        await client.call(closeSession, { params: { session_id }, body: why(reason) })
      },
      async archive(session_id) {
        await client.call(archiveSession, { params: { session_id }, body: {} })
      },
    },
    inbox: {
      ...sw.inbox,
      reply: async (interaction_id, given) => asOptions(await reply(client, interaction_id, given)),
      async list() {
        const items: OpenInteraction[] = []
        let cursor: string | null = ''
        while (cursor !== null) {
          const page: Awaited<ReturnType<typeof inboxPage>> = await inboxPage(cursor)
          items.push(...page.items)
          cursor = page.next_cursor
        }
        return items
      },
    },
    async close() {
      await closeServer()
      await sw.close()
    },
  }

  function inboxPage(cursor: string) {
    return client.call(listInbox, { query: { limit: 2, ...(cursor !== '' && { cursor }) } })
  }
}

/** Through the operation that a person would use for this kind of question. */
async function reply(client: Client, interaction_id: string, given: Reply) {
  const { reply: said, repliedBy, idempotencyKey, expectedWaiting } = given
  const params = { interaction_id }
  const key = asRecord({ idempotencyKey })
  const by = asRecord({ repliedBy, expectedWaiting: expectedWaiting && [...expectedWaiting] })
  const { interaction_kind, run_id } = await client.call(getInteraction, { params })
  const { decision, outcome, ...rest } = Object(said) as Record<string, Json>
  // A request without such an operation is sent unchanged.
  const isPlain = Object.entries(rest).every(([name, value]) => name === 'result' || typeof value === 'string')
  if (isPlain && interaction_kind === 'approval' && decision === 'approve' && !('reason' in rest))
    return client.call(approve, { params, body: { ...rest, ...by }, ...key })
  if (isPlain && interaction_kind === 'approval' && decision === 'deny' && !('digest' in rest))
    return client.call(deny, { params, body: { ...rest, ...by }, ...key })
  if (isPlain && interaction_kind === 'settlement' && outcome !== undefined)
    return client.call(settle, { params, body: { ...rest, outcome: outcome as 'happened', ...by }, ...key })
  const body = { reply: said, ...by }
  if (run_id === null) return client.call(answer, { params, body, ...key })
  return client.call(replyRun, { params: { run_id }, body: { ...body, interaction_id }, ...key })
}
