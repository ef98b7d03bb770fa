import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createStatewright } from '../../../src/app/statewright.ts'
import { subjects } from '../../../src/runelog/models.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { ask, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { eventually } from '../../support/eventually.ts'
import { isProof } from '../../support/sampling.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('many-waiting')
const waiting = isProof ? 10_000 : 300

const model = () =>
  scriptedModel(({ messages }) =>
    messages.length > 1 ? say('Done.') : ask({ title: 'Which?', fields: [{ name: 'choice' }] }),
  )

test(`F-110 start: ${waiting} waiting runs cost no rune and no time of their own, and are preserved when they go on`, async () => {
  const store = `sqlite:${join(scratch.fresh(), 'store.db')}`
  const open = (names: readonly string[]) =>
    createStatewright({
      store,
      agents: Object.fromEntries(names.map((name) => [name, agent({ role: 'asks', model: model() })])),
    })
  const first = await open(['clerk', 'leaving'])
  const gone = await first.runs.start({ agent: 'leaving', input: 'go' })
  let last = gone
  for (let i = 0; i < waiting; i += 100)
    [last] = (await Promise.all(
      Array.from({ length: 100 }, () => first.runs.start({ agent: 'clerk', input: 'go' })),
    )) as [typeof gone]
  await eventually(
    'all of them wait',
    async () =>
      (await first.runelog.count(subjects, 'run:waiting_user', 100_000)).count === waiting + 1 ? true : undefined,
    isProof ? 300_000 : 30_000,
  )
  const countRunes = async ({ runelog }: typeof first) => {
    let runes = 0
    for (const session_id of await runelog.sessionIds()) runes += (await runelog.head(session_id))?.event_id ?? 0
    return runes
  }
  const before = await countRunes(first)
  await first.close()

  const begun = performance.now()
  const second = await open(['clerk', 'leaving'])
  const took = performance.now() - begun
  console.log(
    `${waiting + 1} waiting runs: started in ${took.toFixed(0)} ms, ${(await countRunes(second)) - before} runes`,
  )
  expect(await countRunes(second)).toBe(before)
  expect(took).toBeLessThan(1_000)

  // A run that goes on was preserved first.
  const question = (await second.inbox.list()).find(({ run_id }) => run_id === last.runId)
  await second.inbox.reply(question?.interaction_id ?? '', { reply: { action: 'approve', data: { choice: 'a' } } })
  expect((await (await second.runs.get(last.runId)).result()).status).toBe('succeeded')
  const moves = (await second.runelog.read(last.sessionId)).flatMap(({ machine, trigger }) =>
    machine === 'run' ? [trigger] : [],
  )
  expect(moves).toEqual([
    null,
    'turn.started',
    'turn.needs_input',
    'restart.preserve_waiting',
    'interaction.reply.accepted',
    'turn.started',
    'turn.succeeded',
  ])
  await second.close()

  // A start without the agent of one run fails that run, and no other.
  const third = await open(['clerk'])
  expect((await (await third.runs.get(gone.runId)).result()).errorCode).toBe('SESSION_RESUME_FAILED')
  expect((await third.runelog.count(subjects, 'run:waiting_user', 100_000)).count).toBe(waiting - 1)
  await third.close()
}, 600_000)
