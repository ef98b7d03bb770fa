import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { RunelogReader } from '../../src/runelog/port.ts'
import { call, say } from '../../src/runtime/scripted-model.ts'
import type { Operation } from '../../src/surface/operation.ts'
import { createBackendWorld, refund, supportAgent } from './backend.ts'
import { facts } from './coordinator.ts'
import { exampleQuestion, exampleRegistry } from './plans.ts'
import { startServer } from './server.ts'

/** A server with something of everything in it: a run that waits, one that is over, a session at rest, a kept output, a plan that asks. */
export async function createScene() {
  const { world, backend } = await createBackendWorld(
    {
      support: supportAgent([refund, say('Done.')]),
      long: supportAgent([call('orders.all', {}), say('All.')]),
    },
    { plans: { registry: exampleRegistry } },
  )
  const { sw } = world
  const waiting = await sw.runs.start({ agent: 'support', input: 'Refund.' })
  const over = await sw.runs.start({ agent: 'long', input: 'All.' })
  const { sessionId: closed } = await sw.sessions.create({ agent: 'support' })
  await sw.sessions.close(closed)
  const paused = (await sw.runs.start({ agent: 'long', input: 'Once.' })).sessionId
  await sw.idle()
  await sw.sessions.pause(paused)
  const [question] = await sw.inbox.list()
  const { coordination_id } = await sw.plans.submit({ intent: exampleQuestion, facts })
  const { interaction_id = '' } = question ?? {}
  const asked = (await world.runes(waiting.sessionId)).find((rune) => rune.kind === 'contract.opened')
  const result = (await world.runes(over.sessionId)).find((rune) => rune.kind === 'tool.result')
  const ref = result?.kind === 'tool.result' ? (result.payload.output_ref ?? '') : ''
  expect(ref).not.toBe('')
  const ids = {
    session_id: waiting.sessionId,
    run_id: waiting.runId,
    interaction_id,
    coordination_id,
    execution_id: asked?.execution_id ?? '',
    ref,
    name: 'contract',
    event_id: '2',
    agent_id: (await sw.runs.show(over.runId)).agent_id,
  }
  const server = await startServer(backend)
  const close = async () => {
    await server.close()
    await world.end()
  }
  return { world, backend, ...server, ids, over, closed, paused, close }
}

export type Scene = Awaited<ReturnType<typeof createScene>>

type Ids = Readonly<Record<string, string>>

/** For each operation what is sent to change something, and with which ids where the usual ones do not do. */
const bodies: Readonly<Record<string, object>> = {
  create_session: { agent: 'support' },
  send_message: { input: 'More.' },
  submit_run: { agent: 'support', input: 'Go.' },
  reply_run: { reply: { decision: 'approve' } },
  steer_run: { input: 'Faster.' },
  spawn_agent: { agent: 'long' },
  answer: { reply: { decision: 'approve' } },
  settle: { outcome: 'happened' },
  redact_rune: { reason: 'A slip.' },
  submit_plan: { intent: exampleQuestion, facts: facts as object },
  answer_plan: { choices: { which: 'go' } },
}

/** Operations that need a query. */
export const neededQueries: Readonly<Record<string, string>> = { find_subjects: '?prefix=ses_' }

export function validRequest(operation: Pick<Operation, 'name' | 'path' | 'method'>, scene: Scene, changes: Ids = {}) {
  const ids: Ids = {
    ...scene.ids,
    ...(operation.name === 'run_result' && { run_id: scene.over.runId }),
    ...(operation.name === 'resume_session' && { session_id: scene.paused }),
    ...(operation.name === 'archive_session' && { session_id: scene.closed }),
    ...changes,
  }
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'none')
  return operation.method === 'GET' ? { path } : { path, body: bodies[operation.name] ?? {} }
}

/** The scene has what this operation is about. Plans and goals are set up, and asked for, in tests of their own. */
export function isFurnished({ path, method, name, body }: Operation): boolean {
  const ids = ['session_id', 'run_id', 'interaction_id', 'execution_id', 'ref', 'name', 'event_id', 'agent_id']
  const isKnown = [...path.matchAll(/\{(\w+)\}/g)].every(([, id = '']) => ids.includes(id))
  return isKnown && (method === 'GET' || name in bodies || body?.safeParse({}).success === true)
}

/** Everything that is recorded, in one number: every addition changes it. */
export async function everything(runelog: RunelogReader): Promise<string> {
  const heads = await Promise.all((await runelog.sessionIds()).map((session_id) => runelog.head(session_id)))
  return createHash('sha256')
    .update(JSON.stringify(heads.toSorted((a, b) => (`${a?.session_id}` < `${b?.session_id}` ? -1 : 1))))
    .digest('hex')
}
