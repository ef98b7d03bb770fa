/** One session of many steps: its early and its late steps, and the time to go on after a restart. */
import { writeSync } from 'node:fs'
import { z } from 'zod'
import { createStatewright } from '../../src/app/statewright.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { results } from '../support/text.ts'
import { processorTime } from '../support/usage.ts'

export interface Played {
  readonly sessionId: string
  readonly early_ms: number
  readonly late_ms: number
  /** After a close, in this process. Nothing if the process kills itself. */
  readonly resumed?: Resumed
}

export interface Resumed {
  readonly clock_ms: number
  readonly processor_ms: number
}

const order = JSON.parse(process.argv[2] ?? '') as
  | { readonly file: string; readonly steps: number; readonly isKilled: boolean }
  | { readonly file: string; readonly sessionId: string }
const store = `sqlite:${order.file}`
const resultOf = results()
const echo = tool({ name: 'echo.it', input: z.object({ i: z.int() }), readOnly: true, run: ({ i }) => resultOf(i) })

if ('sessionId' in order) print(await resume(order.sessionId))
else await play(order)

async function play({ steps, isKilled }: { readonly steps: number; readonly isKilled: boolean }) {
  const marks: number[] = []
  let said = 0
  const model = scriptedModel(() => {
    marks.push(performance.now())
    return said < steps ? call('echo.it', { i: said++ }) : say('done')
  })
  const agents = { a: agent({ role: 'a', model, tools: [echo], maxRounds: steps + 1 }) }
  const sw = await createStatewright({ store, agents })
  const { sessionId, result } = await sw.runs.start({ agent: 'a', input: 'go' })
  await result()
  const span = Math.min(500, steps / 4)
  const each = (from: number) => ((marks[from + span] ?? 0) - (marks[from] ?? 0)) / span
  const played = { sessionId, early_ms: each(span), late_ms: each(steps - span) }
  if (isKilled) {
    print(played)
    process.kill(process.pid, 'SIGKILL')
  }
  await sw.close()
  print({ ...played, resumed: await resume(sessionId) })
}

/** From opening the store to the next call of the model. */
async function resume(sessionId: string): Promise<Resumed> {
  const used = processorTime()
  const began = performance.now()
  let resumed: Resumed | undefined
  const model = scriptedModel(() => {
    resumed ??= { clock_ms: performance.now() - began, processor_ms: processorTime() - used }
    return say('here')
  })
  const sw = await createStatewright({ store, agents: { a: agent({ role: 'a', model, tools: [echo] }) } })
  await (await sw.runs.start({ agent: 'a', input: 'go on', sessionId })).result()
  await sw.close()
  if (resumed === undefined) throw new Error('The model was not called.')
  return resumed
}

function print(figures: object) {
  writeSync(1, `${JSON.stringify(figures)}\n`)
}
