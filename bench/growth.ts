/**
 * A store that has grown: 100,000 sessions, 2 million runes, 10,000 open questions. Each figure is taken on a tenth of
 * that and on the whole, each in a new process, so that growth shows: an operation that touches few rows should cost at
 * most a logarithm more. The sessions are copies of two that the runtime played. `SESSIONS` makes it smaller.
 */
import { fill } from './growth/copies.ts'
import type { Figures } from './growth/measure.ts'
import { measuredBy } from './support/child.ts'
import { show } from './support/numbers.ts'
import { createReport } from './support/report.ts'
import { scratch } from './support/scratch.ts'

const sessions = Number(process.env.SESSIONS ?? 100_000)
const path = scratch().file()

async function grown(from: number, to: number): Promise<Figures> {
  await fill(path, from, to)
  return measuredBy<Figures>('bench/growth/measure.ts', { path, questions: Math.ceil(to / 10) })
}

const tenth = await grown(0, sessions / 10)
const whole = await grown(sessions / 10, sessions)
const report = createReport(`A store of ${show(sessions)} sessions and ${show(whole.runes)} runes`, 1)

function row(what: string, unit: string, of: (figures: Figures) => number) {
  const [small, large] = [of(tenth), of(whole)]
  report.row(what, `${show(large)}${unit}`, `${show(small)}${unit} at a tenth, ${show(large / small)} × that`)
}

row('opening', ' ms', (one) => one.opening_ms)
row('first page of the sessions', ' ms', (one) => one.first_page_ms)
row('page of the active sessions, newest first', ' ms', (one) => one.active_page_ms)
row('page of the inbox', ' ms', (one) => one.inbox_page_ms)
row(`the whole inbox of ${show(Math.ceil(sessions / 10))} questions`, ' ms', (one) => one.inbox_ms)
row('a run of one step', ' ms', (one) => one.run_ms)
row('memory of the process', ' MB', (one) => one.memory_mb)
row('verify, runes/s', '', (one) => (one.runes * 1_000) / one.verify_ms)
row('verify, processor time of 1,000 runes', ' ms', (one) => (one.verify_processor_ms * 1_000) / one.runes)
row('bytes per rune', '', (one) => one.bytes / one.runes)
