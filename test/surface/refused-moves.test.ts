import { expect, onTestFinished, test } from 'vitest'
import { agent } from '../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { steerRun } from '../../src/surface/operations/runs.ts'
import { archiveSession, closeSession, pauseSession, resumeSession } from '../../src/surface/operations/sessions.ts'
import { createBackendWorld } from '../support/backend.ts'

async function finishedRun() {
  const main = agent({ role: 'main', model: scriptedModel([say('Done.')]) })
  const { world, client } = await createBackendWorld({ main })
  onTestFinished(() => world.end())
  const run = await world.sw.runs.start({ agent: 'main', input: 'Go.' })
  await run.result()
  return { client, run }
}

test('refused moves: a session names its state and the commands it takes, in words of the surface', async () => {
  const { client, run } = await finishedRun()
  const { sessionId } = run
  const session = { params: { session_id: sessionId }, body: {} }
  const pause = () => client.call(pauseSession, session)
  const resume = () => client.call(resumeSession, session)
  const close = () => client.call(closeSession, session)
  const archive = () => client.call(archiveSession, session)
  const is = (state: string, refuses: string) => `session ${sessionId} is ${state} and refuses "${refuses}"`

  await expect(resume()).rejects.toThrow(
    `${is('active', 'resume')}. Runs are taken and turns are run. You can pause or close it.`,
  )
  await expect(archive()).rejects.toThrow(
    `${is('active', 'archive')}. Runs are taken and turns are run. Only a closed session is archived. You can pause or close it.`,
  )
  await pause()
  await expect(pause()).rejects.toThrow('the one in flight comes to its end. You can resume or close it.')
  await close()
  await expect(close()).rejects.toThrow(`${is('closed', 'close')}. Over. The runelog is sealed. You can archive it.`)
  await expect(resume()).rejects.toThrow('A sealed runelog accepts no more work; open a new session.')
})

test('refused moves: a steer of an ended run is refused with a remedy', async () => {
  const { client, run } = await finishedRun()
  const { runId } = run
  await expect(client.call(steerRun, { params: { run_id: runId }, body: { input: 'Wait!' } })).rejects.toThrow(
    `run ${runId} is succeeded and refuses "steer". Finished with a result. A run has one outcome; submit a new one.`,
  )
})
