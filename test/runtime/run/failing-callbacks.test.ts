import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { drained } from '../../../src/adapters/system/testing.ts'
import { workingWarn } from '../../../src/app/warnings.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { createWorld } from '../../support/world.ts'

/** Failures that would end a process, and the line on stderr. */
function listening() {
  const strays: unknown[] = []
  const lines: string[] = []
  const hear = (reason: unknown) => void strays.push(reason)
  process.on('unhandledRejection', hear)
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(String(line)) > 0)
  onTestFinished(() => {
    process.off('unhandledRejection', hear)
    stderr.mockRestore()
  })
  return { strays, lines }
}

const secret = 'sk-of-the-log-service'
const error = new Error(`no route for ${secret}`)

test.each([
  ['reject', () => Promise.reject(error)],
  [
    'throw',
    () => {
      throw error
    },
  ],
])(
  'callbacks: warn, log and listeners that %s end neither the run nor the process; stderr gets one line for each',
  async (_, fail) => {
    const { strays, lines } = listening()
    const broken = tool({
      name: 'broken',
      input: z.object({}),
      approval: 'never',
      run: () => {
        throw new Error('boom')
      },
    })
    const model = scriptedModel([call('broken'), call('broken'), say('done')], { pieces: 3 })
    const world = await createWorld({
      agents: { worker: agent({ role: 'worker', model, tools: [broken] }) },
      warn: fail,
      log: { info: fail, debug: fail },
      secrets: { log: secret },
    })
    world.sw.runs.listen(fail)
    const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    await drained()
    await world.end()
    expect(strays).toEqual([])
    const line = `a function for warnings or logs failed; its message is lost: {"error":"no route for [secret:log]"}\n`
    expect(lines).toEqual([line, line, line])
  },
)

test('callbacks: a rejection of `warn` in a working process reaches the caller of the warning', async () => {
  const io = { onRune: () => {}, warn: () => {} }
  const warn = workingWarn(() => Promise.reject(error), io, new Promise(() => {}))
  await expect(warn('a', {})).rejects.toBe(error)
})
