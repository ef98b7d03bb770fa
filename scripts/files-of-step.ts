/**
 * Counts the modules of `src` whose functions run for one `submit → approval → effect → result` on SQLite. Functions that
 * ran only while a module was loaded or the store was opened do not count. Fails above the limit, if one is given:
 * `npm run files:step -- --max 35`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { agent, createStatewright, type Model, tool } from '../src/index.ts'

const root = fileURLToPath(new URL('../src/', import.meta.url))
const { max } = parseArgs({ options: { max: { type: 'string' } } }).values

/** Written here, so that the helpers for tests are not counted. */
const model: Model = {
  id: 'once',
  async *stream({ messages }) {
    const isFirst = !messages.some(({ role }) => role === 'assistant')
    if (isFirst) yield { type: 'tool_call', name: 'payments.refund', arguments: { order: 42 } }
    else yield { type: 'delta', channel: 'text', text: 'Refunded.' }
    yield { type: 'done', finish: isFirst ? 'tool_calls' : 'stop' }
  },
}
const refund = tool({
  name: 'payments.refund',
  input: z.object({ order: z.int() }),
  irreversible: true,
  approval: 'always',
  run: ({ order }) => ({ refunded: order }),
})

const folder = mkdtempSync(join(tmpdir(), 'statewright-files-'))
process.env.STATEWRIGHT_HOME ??= folder
const inspector = new Session()
try {
  const agents = { cashier: agent({ role: 'cashier', model, tools: [refund] }) }
  const sw = await createStatewright({ store: `sqlite:${join(folder, 'step.db')}`, agents })
  inspector.connect()
  await inspector.post('Profiler.enable')
  await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const run = await sw.runs.start({ agent: 'cashier', input: 'Refund order 42' })
  for await (const event of run.events())
    if (event.type === 'rune' && event.rune.kind === 'interaction.opened')
      await sw.inbox.approve(event.rune.interaction_id ?? '', { digest: event.rune.payload.digest ?? '' })
  const { status } = await run.result()
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  await sw.close()
  if (status !== 'succeeded') throw new Error(`The run ended as ${status}.`)
  const files = result
    .filter(({ url }) => url.startsWith('file:') && fileURLToPath(url).startsWith(root))
    .map(({ url, functions }) => ({
      file: relative(root, fileURLToPath(url)),
      ran: functions.filter(({ ranges: [range] }) => range !== undefined && range.startOffset > 0 && range.count > 0),
    }))
    .filter(({ ran }) => ran.length > 0)
    .sort((a, b) => a.file.localeCompare(b.file))
  for (const { file, ran } of files)
    console.log(`${file}  ${ran.map(({ functionName }) => functionName || '(anonymous)').join(' ')}`)
  const rooms = Object.entries(Object.groupBy(files, ({ file }) => file.split('/')[0] ?? ''))
  console.log(rooms.map(([room, found]) => `${room} ${found?.length}`).join(', '))
  console.log(`files: ${files.length} modules of src have functions that ran`)
  if (max !== undefined && files.length > Number(max)) process.exitCode = 1
} finally {
  inspector.disconnect()
  rmSync(folder, { recursive: true, force: true })
}
