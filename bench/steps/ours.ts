/** One session of many steps in a process of its own. A step is a call by the model and a result of 1 kB by the tool. */
import { z } from 'zod'
import { createStatewright } from '../../src/app/statewright.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'

import { results } from '../support/text.ts'
import { meterCommits, processorTime } from '../support/usage.ts'

const {
  store,
  steps,
  warm,
  isPlain = false,
  isMetered = false,
} = JSON.parse(process.argv[2] ?? '') as {
  readonly store: string
  readonly steps: number
  readonly warm: number
  /** The same letter, again and again, for a result: a store can compress it. */
  readonly isPlain?: boolean
  /** Measures the commits, too. The metering costs time of its own. */
  readonly isMetered?: boolean
}

let left = 0
const oneLetter = 'x'.repeat(1_024)
const resultOf = isPlain ? () => oneLetter : results()
const echo = tool({
  name: 'echo.it',
  input: z.object({ i: z.int() }),
  readOnly: true,
  run: ({ i }) => resultOf(i),
})
const model = scriptedModel(() => (left-- > 0 ? call('echo.it', { i: left }) : say('done')))
const sw = await createStatewright({
  store,
  agents: { a: agent({ role: 'a', model, tools: [echo], maxRounds: Math.max(steps, warm) + 1 }) },
})

async function work(count: number) {
  left = count
  const { status } = await (await sw.runs.start({ agent: 'a', input: 'go' })).result()
  if (status !== 'succeeded') throw new Error(`The run ended as ${status}.`)
}

if (warm > 0) await work(warm)
const commits = isMetered ? meterCommits() : undefined
const used = processorTime()
const began = performance.now()
await work(steps)
const clock_ms = performance.now() - began
const processor_ms = processorTime() - used
await sw.close()
console.log(JSON.stringify({ clock_ms, processor_ms, commits }))
