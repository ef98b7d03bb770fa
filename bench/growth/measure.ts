/** Times operations on a store that exists, in a process of its own: `measure.ts ORDER`. */
import { openExisting } from '../../src/app/open-store.ts'
import { createStatewright } from '../../src/app/statewright.ts'
import { mergedRows } from '../../src/runelog/models.ts'
import type { Runelog } from '../../src/runelog/port.ts'
import { openInteractions } from '../../src/runtime/models/open-work.ts'
import { median, timed } from '../support/numbers.ts'
import { sizeOf } from '../support/scratch.ts'
import { processorTime } from '../support/usage.ts'
import { agents } from './copies.ts'

export interface Figures {
  readonly opening_ms: number
  readonly first_page_ms: number
  readonly active_page_ms: number
  readonly inbox_page_ms: number
  readonly inbox_ms: number
  readonly run_ms: number
  readonly memory_mb: number
  readonly runes: number
  readonly verify_ms: number
  readonly verify_processor_ms: number
  readonly bytes: number
}

const { path, questions } = JSON.parse(process.argv[2] ?? '') as { readonly path: string; readonly questions: number }
const page = 50

async function repeated(times: number, expected: number | undefined, work: () => Promise<unknown>): Promise<number> {
  const took: number[] = []
  for (let i = 0; i < times; i++)
    took.push(
      await timed(async () => {
        const answer = await work()
        const { length } = Array.isArray(answer) ? answer : { length: undefined }
        if (expected !== undefined && length !== expected) throw new Error(`${length} came instead of ${expected}.`)
      }),
    )
  return median(took)
}

const began = performance.now()
const sw = await createStatewright({ store: `sqlite:${path}`, agents, warn: () => {} })
const opening_ms = performance.now() - began
const firstOf = (limit: number, all: number) => Math.min(limit, all)
const pageOfInbox = () => mergedRows(sw.runelog as Runelog, openInteractions, ['open', 'due'], { limit: page })
const first_page_ms = await repeated(9, undefined, () => sw.sessions.list({ limit: page }))
const active_page_ms = await repeated(9, undefined, () =>
  sw.sessions.list({ limit: page, state: 'active', backward: true }),
)
const inbox_page_ms = await repeated(9, firstOf(page, questions), pageOfInbox)
const inbox_ms = await repeated(5, questions, () => sw.inbox.list())
const run_ms = await repeated(50, undefined, async () => (await sw.runs.start({ agent: 'done', input: 'go' })).result())
const memory_mb = process.memoryUsage().rss / 2 ** 20
await sw.close()

const store = await openExisting(`sqlite:${path}`, 'look')
const asked = (await store.runelog.sessionIds()).map((session_id) => ({ session_id, marks: [] }))
let runes = 0
const used = processorTime()
const verify_ms = await timed(async () => {
  for await (const { session_id, events, first_bad } of store.prove(asked, [store.publicKey() ?? []].flat())) {
    if (first_bad !== null) throw new Error(`${session_id}: ${first_bad.problem}`)
    runes += events
  }
})
const verify_processor_ms = processorTime() - used
await store.runelog.close()
const figures: Figures = {
  opening_ms,
  first_page_ms,
  active_page_ms,
  inbox_page_ms,
  inbox_ms,
  run_ms,
  memory_mb,
  runes,
  verify_ms,
  verify_processor_ms,
  bytes: sizeOf(path),
}
console.log(JSON.stringify(figures))
