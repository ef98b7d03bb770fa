import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from '../adapters/sqlite/driver.ts'
import { packed, unpacked } from '../adapters/sqlite/record-columns.ts'
import { exits } from '../cli/exits.ts'
import type { DemoOptions, Io } from '../cli/host.ts'
import { type Asking, card } from '../cli/render/card.ts'
import { storyLine } from '../cli/render/story.ts'
import { type Paint, paintFor } from '../cli/render/text.ts'
import { fileRefused } from '../faults/catalogue.ts'
import type { Json } from '../kernel/json.ts'
import { isTerminal } from '../kernel/machine.ts'
import { runMachine } from '../machines/run.ts'
import { makeFolder } from '../runelog/files.ts'
import { firstEventOf, linesOf } from '../runes/record.ts'
import type { Rune } from '../runes/rune.ts'
import type { BankSays, Payment } from './bank.ts'
import type { WorkerOptions, WorkerSays } from './worker.ts'

const input = 'Please refund order 42, the lamp came back.'

/** Kills an agent in the middle of a payment, continues in a new process, and checks every claim. */
export async function playDemo(io: Io, options: DemoOptions): Promise<number> {
  const paint = paintFor(io.terminal.hasColor)
  const stage = createStage(io, paint)
  const folder = newFolder(options.folder ?? tmpdir())
  const store = `sqlite:${join(folder, 'demo.db')}`
  const book = join(folder, 'bank.ndjson')

  stage.line('A support agent refunds an order, and is killed in the middle of the payment.')
  stage.line('The model plays a script: no key, no network. Nothing leaves this machine.')
  stage.line(`Data: ${folder}`)

  const bank = startChild<BankSays>('bank', book)
  const { value: opened } = await bank.messages.next()
  if (opened?.type !== 'open') throw new Error('The bank did not open.')
  const setting = { io, stage, paint, options, store, bank: opened.url }
  try {
    stage.chapter('The agent works')
    const first = await firstLife(setting, bank)
    const last = first.isOver ? first : await secondLife(setting, first, paymentsIn(book))
    return await epilogue(setting, { ...last, folder, book })
  } finally {
    await bank.end()
  }
}

interface Setting {
  readonly io: Io
  readonly stage: Stage
  readonly paint: Paint
  readonly options: DemoOptions
  readonly store: string
  readonly bank: string
}

interface Life {
  readonly session_id: string
  readonly run_id: string
  readonly after: number
  readonly isOver: boolean
}

/** Up to the payment: the moment the bank has it in its book, the worker is killed. */
async function firstLife(setting: Setting, bank: Child<BankSays>): Promise<Life> {
  const { stage, paint } = setting
  const worker = startWorker(setting)
  let killed: { readonly payment: Payment; readonly death: Promise<string | null> } | undefined
  void bank.messages.next().then(({ value, done }) => {
    if (!done && value.type === 'received') killed = { payment: value.payment, death: worker.kill() }
  })
  const life = await follow(setting, worker)
  if (killed === undefined) return life
  const cause = await killed.death
  if (cause !== 'SIGKILL') throw new Error(`The worker was to be killed, and died of ${cause}.`)
  stage.chapter('The payment has started: kill -9')
  stage.line(`The bank has the payment in its book: ${euros(killed.payment)}. It has not answered yet.`)
  stage.line(paint.bad(`Process ${worker.pid} is killed with SIGKILL. It cannot write down what comes of the payment.`))
  return life
}

async function secondLife(setting: Setting, before: Life, book: readonly Payment[]): Promise<Life> {
  const { stage } = setting
  stage.chapter('It starts again')
  const { run_id, after } = before
  const worker = startWorker(setting, { run_id, after })
  stage.line(`Process ${worker.pid} opens the same store. The last recorded event is ${after}.`)
  const life = await follow(setting, worker, book)
  await worker.end()
  return life
}

function startWorker({ store, bank }: Setting, run?: WorkerOptions['run']): Child<WorkerSays> {
  const given: WorkerOptions = { store, bank, input, ...(run === undefined ? {} : { run }) }
  return startChild<WorkerSays>('worker', JSON.stringify(given))
}

/** Tells what the worker records, and answers what it asks, until it ends or is killed. */
async function follow(setting: Setting, worker: Child<WorkerSays>, book: readonly Payment[] = []): Promise<Life> {
  const { stage, paint } = setting
  let life: Life = { session_id: '', run_id: '', after: 0, isOver: false }
  const executing = new Set<string>()
  const asked: Rune<'interaction.opened'>[] = []
  for await (const message of worker.messages) {
    if (message.type === 'submitted') life = { ...life, session_id: message.session_id, run_id: message.run_id }
    else if (message.type === 'delta') stage.stream(message.text)
    else {
      const { rune } = message
      const isEnd = rune.kind === 'run.moved' && isTerminal(runMachine, rune.to)
      life = { ...life, after: rune.event_id, isOver: life.isOver || isEnd }
      tellOf(rune, executing, stage)
      if (rune.kind === 'interaction.opened') asked.push(rune)
      if (rune.kind === 'run.moved' && rune.to === 'waiting_user')
        for (const question of asked.splice(0)) worker.tell(await answer(setting, question, book))
      if (rune.kind === 'tool.result' && rune.payload.status === 'success' && executing.size > 1)
        stage.line(paint.faint(`(${executing.size} tools were at work at the same time)`))
      if (rune.kind === 'tool.result') executing.clear()
    }
  }
  return life
}

function tellOf(rune: Rune, executing: Set<string>, stage: Stage) {
  if (rune.machine === 'tool' && rune.to === 'executing') executing.add(rune.subject_id ?? '')
  // The text was streamed already, and a question is shown as a card.
  if (['turn.tool_calls_received', 'turn.completed', 'interaction.opened'].includes(rune.kind)) return
  const line = storyLine(rune)
  if (line !== undefined) stage.line(line)
}

/** Asks the person at the terminal. Without one, approves and answers truthfully. */
async function answer(setting: Setting, rune: Rune<'interaction.opened'>, book: readonly Payment[]) {
  const { io, stage, paint } = setting
  const { interaction_id = '', at: opened_at, payload } = rune
  const asking: Asking = { ...payload, request: payload.request as Asking['request'], interaction_id, opened_at }
  stage.chapter(payload.interaction_kind === 'approval' ? 'It must ask' : 'It asks what it cannot know')
  for (const line of card(asking, io.host.now(), paint)) stage.line(line)
  const reply =
    payload.interaction_kind === 'approval' ? await approve(setting, payload.digest) : await settle(setting, book)
  return { interaction_id, reply }
}

/** Every answer except no means yes. */
async function confirm({ io, options }: Setting, question: string): Promise<boolean> {
  return options.answersItself || !/^n/i.test((await io.terminal.ask(question)) ?? '')
}

async function approve(setting: Setting, digest: string | null): Promise<Json> {
  const { stage, options } = setting
  const yes = await confirm(setting, '   Approve exactly this? [Y/n] ')
  const approved = 'The demo approves in your place, with the digest it saw.'
  stage.line(options.answersItself ? approved : `You ${yes ? 'approve' : 'deny'}.`)
  return yes
    ? { decision: 'approve', ...(digest === null ? {} : { digest }) }
    : { decision: 'deny', reason: 'not today' }
}

async function settle(setting: Setting, book: readonly Payment[]): Promise<Json> {
  const { stage, options } = setting
  const [payment] = book
  const found = payment && `A look into the bank's book: ${book.length} payment, ${euros(payment)}.`
  stage.line(found ?? "The bank's book is empty.")
  const yes = await confirm(setting, '   Did it happen? [Y/n] ')
  const answers = options.answersItself ? 'The demo answers in your place' : 'You answer'
  stage.line(`${answers}: ${yes ? 'it happened' : 'it did not'}.`)
  return yes
    ? { outcome: 'happened', result: { receipt: payment?.key.slice(0, 8) ?? 'seen at the bank' } }
    : { outcome: 'did_not', reason: 'a person says so' }
}

/** Reports the result, by what is on the disks: the log's, and the bank's. */
async function epilogue(setting: Setting, end: Life & { folder: string; book: string }): Promise<number> {
  const { io, stage, paint, store } = setting
  const { session_id, folder, book, isOver } = end
  const where = ['--store', store]
  const shown = async (args: readonly string[]) => {
    stage.line(paint.strong(`$ ${io.program} ${args.join(' ')}`))
    return io.command(args, { err: io.out })
  }
  const problems: string[] = []
  if (!isOver) problems.push('the run did not come to its end')

  stage.chapter('What happened')
  if ((await shown(['timeline', session_id, ...where])) !== exits.ok) problems.push('the timeline could not be shown')

  stage.chapter('How often was it paid?')
  const payments = paymentsIn(book)
  stage.line(
    `The bank's book has ${payments.length} ${payments.length === 1 ? 'payment' : 'payments'}${payments.length > 0 ? ':' : '.'}`,
  )
  for (const payment of payments) stage.line(`  ${euros(payment)}, key ${payment.key.slice(0, 16)}…`)
  if (payments.length > 1) problems.push(`it was paid ${payments.length} times`)

  stage.chapter('Can you prove it?')
  if ((await shown(['verify', ...where])) !== exits.ok) problems.push('the log does not verify')
  const copy = join(folder, 'tampered.db')
  const event_id = tamper(join(folder, 'demo.db'), copy, '"cents":4200,"order":42', '"cents":9900,"order":42')
  stage.line('')
  stage.line(`Now someone changes 42.00 into 99.00 in event ${event_id} of a copy:`)
  if ((await shown(['verify', '--store', `sqlite:${copy}`])) !== exits.unproved)
    problems.push('the changed copy was not found out')

  stage.line('')
  for (const problem of problems) io.err(`This is not as it should be: ${problem}.`)
  if (problems.length > 0) return exits.failed
  const promise = payments.length === 1 ? 'Killed in the middle, paid once, proved.' : 'You said no: nothing was paid.'
  stage.line(`${paint.good(promise)} What next:`)
  stage.line(`  ${io.program} show ${session_id} ${where.join(' ')}`)
  stage.line(`  ${io.program} init       writes a config with one agent and one tool of yours`)
  stage.line(`  rm -r ${folder}`)
  return exits.ok
}

function newFolder(parent: string): string {
  makeFolder(parent)
  try {
    return mkdtempSync(join(parent, 'statewright-demo-'))
  } catch (error) {
    throw fileRefused(parent, error)
  }
}

function paymentsIn(book: string): readonly Payment[] {
  const lines = readFileSync(book, 'utf8').split('\n')
  return lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Payment]))
}

function euros({ cents, order }: Payment): string {
  return `${(cents / 100).toFixed(2)} EUR for order ${order}`
}

type Stage = ReturnType<typeof createStage>

function createStage({ out, write }: Io, paint: Paint) {
  let chapters = 0
  let isStreaming = false
  const breakOff = () => {
    if (isStreaming) out('')
    isStreaming = false
  }
  return {
    line(text: string) {
      breakOff()
      out(text)
    },
    /** Text as it comes. The next line begins on a line of its own. */
    stream(text: string) {
      if (!isStreaming) write('support: ')
      isStreaming = true
      write(text)
    },
    chapter(title: string) {
      breakOff()
      out(`\n${paint.strong(`${++chapters}. ${title}`)}`)
    },
  }
}

type Child<S> = ReturnType<typeof startChild<S>>

/** Starts one of the demo's programs, from the sources or from what was built of them, whichever this is. */
function startChild<S>(name: string, argument: string) {
  const program = join(import.meta.dirname, `${name}${extname(import.meta.filename)}`)
  const child = spawn(process.execPath, [program, argument], { stdio: ['pipe', 'pipe', 'inherit'] })
  const over = once(child, 'exit')
  // A killed process cannot read messages.
  child.stdin.on('error', () => {})
  async function* messages(): AsyncGenerator<S> {
    for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line) as S
  }
  return {
    pid: child.pid ?? 0,
    /** Its messages, until it ends. */
    messages: messages(),
    tell: (message: object) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    /** Ends its input, and resolves when it has gone. */
    async end() {
      child.stdin.end()
      await over
    },
    /** Sends SIGKILL. Resolves with the signal that ended the process. */
    async kill() {
      child.kill('SIGKILL')
      const [, signal] = (await over) as [number | null, string | null]
      return signal
    },
  }
}

/** Changes one text of one record in a copy of the database. Returns the event that was changed. */
function tamper(store: string, copy: string, from: string, to: string): number {
  const original = new DatabaseSync(store)
  original.prepare('VACUUM INTO ?').run(copy)
  original.close()
  const db = new DatabaseSync(copy)
  try {
    db.exec('DROP TRIGGER record_is_never_changed')
    type Columns = Parameters<typeof unpacked>[0] & { readonly position: number }
    for (const row of db.prepare('SELECT * FROM record ORDER BY position').iterate()) {
      const columns = row as Columns & typeof row
      const record = { ...columns, ...unpacked(columns) }
      const line = linesOf(record.payload).findIndex((text) => text.includes(from))
      if (line < 0) continue
      const changed = packed({ ...record, payload: record.payload.replace(from, to) })
      db.prepare('UPDATE record SET payload = ? WHERE position = ?').run(changed.payload, record.position)
      return firstEventOf(record) + line
    }
    throw new Error(`No record has ${from}.`)
  } finally {
    db.close()
  }
}
