/** The process that is killed. It prints what is recorded and reads answers, one JSON object per line. */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { createStatewright, type Json } from '../index.ts'
import type { Rune } from '../runes/rune.ts'
import { supportAgent } from './agent.ts'

/** How the worker of the demo is started. */
export interface WorkerOptions {
  readonly store: string
  readonly bank: string
  readonly input: string
  /** The run to go on with, and the last event of it that was seen. */
  readonly run?: { readonly run_id: string; readonly after: number }
}

/** Messages of the worker. */
export type WorkerSays =
  | { readonly type: 'submitted'; readonly session_id: string; readonly run_id: string }
  | { readonly type: 'delta'; readonly text: string }
  | { readonly type: 'rune'; readonly rune: Rune }

type Answer = { readonly interaction_id: string; readonly reply: Json }

const { store, bank, input, run: earlier } = JSON.parse(process.argv[2] ?? '') as WorkerOptions
const say = (message: WorkerSays) => writeSync(1, `${JSON.stringify(message)}\n`)

const support = supportAgent(async (payment, signal) => {
  const answered = await fetch(bank, { method: 'POST', body: JSON.stringify(payment), signal })
  return (await answered.json()) as { receipt: string }
})
const sw = await createStatewright({ store, agents: { support } })
const run = earlier === undefined ? await sw.runs.start({ agent: 'support', input }) : await sw.runs.get(earlier.run_id)
const { sessionId, runId } = run
say({ type: 'submitted', session_id: sessionId, run_id: runId })

const answers = createInterface({ input: process.stdin }).on('line', async (line) => {
  const { interaction_id, reply } = JSON.parse(line) as Answer
  await sw.inbox.reply(interaction_id, { reply, repliedBy: 'you' })
})
for await (const event of run.events(earlier === undefined ? {} : { after: earlier.after }))
  say(event.type === 'rune' ? event : { type: 'delta', text: event.delta.text })
answers.close()
await sw.close()
