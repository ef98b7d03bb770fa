import { expect, onTestFinished, test } from 'vitest'
import { backendOf } from '../../src/app/backend.ts'
import { createStatewright } from '../../src/app/statewright.ts'
import { keyOf } from '../../src/app/store-key.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import type { Draft } from '../../src/runes/rune.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { ask, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { runCli } from '../support/run-cli.ts'
import { startServer } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { writable } from '../support/writable.ts'

const form = (title: string) => ask({ title, fields: [{ name: 'choice' }] })

/** A run that waits for two answers. The contract of the first question was called off, and its question is still open. */
async function misaligned() {
  const store = `sqlite:${temporaryFolder()}/world.db`
  const model = scriptedModel([together(form('Colour?'), form('Fabric?')), say('Done.')])
  const sw = await createStatewright({ store, agents: { tailor: agent({ role: 'tailor', model }) }, warn: () => {} })
  const { sessionId } = await sw.runs.start({ agent: 'tailor', input: 'go' })
  await sw.idle()
  const [cancelled, waiting] = (await sw.runelog.read(sessionId)).flatMap((rune) =>
    rune.kind === 'interaction.opened' ? [{ ...rune }] : [],
  )
  const { run_id, agent_id, turn_id, call_id, execution_id = '' } = cancelled ?? {}
  const about = { run_id, agent_id, turn_id, call_id, execution_id, subject_id: execution_id }
  const move = { machine: 'contract', from: 'waiting', to: 'cancelled', trigger: 'cancel' }
  const calledOff = { kind: 'contract.moved', at: Date.now(), actor: 'human', payload: {}, ...about, ...move } as Draft
  accepted(await writable(sw).append({ session_id: sessionId, runes: [calledOff] }))
  const ids = { cancelled: cancelled?.interaction_id ?? '', waiting: waiting?.interaction_id ?? '' }
  return { sw, store, session_id: sessionId, ids, execution_id: waiting?.execution_id }
}

const reply = { action: 'approve', data: { choice: 'a' } }

test('F-10 answers over HTTP: a cancelled contract is refused; another one is answered with its snapshot and alignment', async () => {
  const { sw, ids, execution_id, session_id } = await misaligned()
  const server = await startServer(backendOf(sw, keyOf('memory:')))
  onTestFinished(async () => {
    await server.close()
    await sw.close()
  })
  const answer = (id: string) => server.ask(`/api/interactions/${id}/answer`, { body: { reply } })
  expect(await answer(ids.cancelled)).toMatchObject({ status: 409, json: { code: 'transition_refused' } })
  expect(await answer(ids.waiting)).toMatchObject({
    status: 200,
    json: { is_aligned: false, snapshot: { execution_id, current_status: 'waiting' } },
  })
  expect((await sw.runelog.read(session_id)).filter(({ kind }) => kind === 'run.misaligned')).toHaveLength(1)
})

test('F-10 answer command: a cancelled contract is refused, and an unexpected number of waiting ones is reported', async () => {
  const { sw, store, ids } = await misaligned()
  await sw.close()
  const answer = (id: string) => runCli(['answer', id, 'choice=a', '--store', store])
  const refused = await answer(ids.cancelled)
  expect(refused.exit).not.toBe(0)
  expect(refused.err).toContain('is cancelled and refuses "resume"')
  const taken = await answer(ids.waiting)
  expect(taken).toMatchObject({
    exit: 0,
    err: expect.stringContaining('Warning: the run waits for other contracts than the record expects'),
  })
})
