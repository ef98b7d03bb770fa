/**
 * The cost of durability. Every figure is for runes with a payload of 1 KB. The
 * floor is the least that can be done: node:sqlite, one table, one insert per
 * synced commit. All contenders are open at once and take turns in short
 * slices, so that a busy machine slows all of them alike: judge by the ratios.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { hostPorts } from '../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../src/adapters/sqlite/runelog.ts'
import { accepted } from '../src/faults/catalogue.ts'
import type { Draft } from '../src/runes/rune.ts'
import { verifierOf } from '../test/support/verifier.ts'

const payloadBytes = 1024
const rounds = Number(process.env.ROUNDS ?? 5)
const content = 'x'.repeat(payloadBytes - '{"channel":"text","content":"","offset":0,"round":1}'.length)
const result = 'x'.repeat(payloadBytes - '{"result":""}'.length)

const delta = (): Draft => ({
  kind: 'turn.assistant_delta',
  at: Date.now(),
  actor: 'reasoning',
  run_id: 'run_1',
  agent_id: 'agt_1',
  turn_id: 'trn_1',
  payload: { content, channel: 'text', round: 1, offset: 0 },
})

const created = (session_id: string): Draft => ({
  kind: 'session.created',
  at: Date.now(),
  actor: 'human',
  machine: 'session',
  subject_id: session_id,
  from: null,
  to: 'created',
  trigger: null,
  payload: { conversation_id: 'con_1', config: {} },
})

const contract = (subject_id: string): readonly Draft[] => [
  {
    kind: 'contract.opened',
    at: Date.now(),
    actor: 'reasoning',
    machine: 'contract',
    subject_id,
    from: null,
    to: 'pending',
    trigger: null,
    payload: {
      action_type: 'tool_call',
      action_detail: {},
      action_summary: 's',
      irreversible: false,
      idempotency_key: null,
      key_scope: 'session',
      timeout_ms: null,
    },
  },
  { ...moved(subject_id), from: 'pending', to: 'running', trigger: 'start' },
]

function moved(subject_id: string, forth = true): Draft {
  const edge = forth
    ? { from: 'running', to: 'waiting', trigger: 'suspend' }
    : { from: 'waiting', to: 'running', trigger: 'resume' }
  return {
    kind: 'contract.moved',
    at: Date.now(),
    actor: 'tool_node',
    execution_id: subject_id,
    machine: 'contract',
    subject_id,
    ...edge,
    payload: { result },
  }
}

interface Contender {
  readonly label: string
  /** Of the floor; undefined where there is nothing to reach. */
  readonly target?: number
  readonly perSlice: number
  readonly open: (path: string) => Promise<{ slice(): Promise<void>; close(): Promise<void> }>
}

const floor: Contender = {
  label: 'raw floor, commits/s',
  perSlice: 200,
  async open(path) {
    const db = new DatabaseSync(path)
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    db.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, payload TEXT)')
    const insert = db.prepare('INSERT INTO t (payload) VALUES (?)')
    const text = 'x'.repeat(payloadBytes)
    return {
      async slice() {
        for (let i = 0; i < floor.perSlice; i++) insert.run(text)
      },
      close: async () => db.close(),
    }
  },
}

interface Load {
  readonly sessions: number
  readonly draft: (subject_id: string, i: number) => Draft
  readonly target?: number
}

function ours(label: string, { sessions, draft, target }: Load): Contender {
  const each = sessions === 1 ? 200 : 40
  return {
    label,
    ...(target === undefined ? {} : { target }),
    perSlice: sessions * each,
    async open(path) {
      const store = await openSqliteRunelog(path, hostPorts)
      const ids = Array.from({ length: sessions }, (_, n) => ({ session_id: `ses_${n}`, subject_id: `exe_${n}` }))
      for (const { session_id, subject_id } of ids)
        accepted(await store.append({ session_id, runes: [created(session_id), ...contract(subject_id)] }))
      const writer = async ({ session_id, subject_id }: (typeof ids)[number]) => {
        for (let i = 0; i < each; i++) accepted(await store.append({ session_id, runes: [draft(subject_id, i)] }))
      }
      return {
        async slice() {
          await Promise.all(ids.map(writer))
        },
        close: store.close,
      }
    },
  }
}

const plain = () => delta()
const moving = (subject_id: string, i: number) => moved(subject_id, i % 2 === 0)

const contenders: readonly Contender[] = [
  floor,
  ours('1 writer, appends/s', { sessions: 1, draft: plain, target: 0.7 }),
  ours('1 writer, every rune a move', { sessions: 1, draft: moving }),
  ours('64 sessions, appends/s', { sessions: 64, draft: plain, target: 3 }),
  ours('64 sessions, every rune a move', { sessions: 64, draft: moving }),
]

interface Measured {
  readonly rate: number
  /** How long the event loop was kept from its next turn, in milliseconds. */
  readonly delay: number
}

/** One round: every contender on a new file, in turns. */
async function round(slices: number): Promise<readonly Measured[]> {
  return inFolder(async (folder) => {
    const entered = await Promise.all(
      contenders.map(async ({ open, perSlice }, i) => ({
        ...(await open(join(folder, `${i}.db`))),
        perSlice,
        spent: 0,
        delays: [] as number[],
      })),
    )
    for (let i = 0; i < slices; i++)
      for (const contender of entered) {
        const loop = monitorEventLoopDelay({ resolution: 1 })
        loop.enable()
        const started = performance.now()
        await contender.slice()
        contender.spent += performance.now() - started
        loop.disable()
        contender.delays.push(loop.percentile(99) / 1e6)
      }
    for (const { close } of entered) await close()
    return entered.map(({ perSlice, spent, delays }) => ({
      rate: (perSlice * slices * 1000) / spent,
      delay: median(delays),
    }))
  })
}

/** Files of a store that was closed, so that nothing of it is left in the write-ahead log. */
async function log(count: number) {
  return inFolder(async (folder) => {
    const store = await openSqliteRunelog(join(folder, 'store.db'), hostPorts)
    accepted(await store.append({ session_id: 'ses_1', runes: [created('ses_1')] }))
    for (let i = 1; i < count; i += 500)
      accepted(
        await store.append({ session_id: 'ses_1', runes: Array.from({ length: Math.min(500, count - i) }, delta) }),
      )
    const replay = await best(count, async () => {
      if ((await store.rebuild()) !== count) throw new Error('The replay missed a rune.')
    })
    const verify = await best(count, async () => {
      const verifier = verifierOf('ses_1')
      for await (const record of store.records('ses_1'))
        if (verifier.take(record) !== undefined) throw new Error('The log does not verify.')
      if (verifier.end() !== undefined || verifier.head().event_id !== count)
        throw new Error('The log does not verify.')
    })
    await store.close()
    const bytes = readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
    return { bytes: bytes / count, replay, verify }
  })
}

/** Per second of the clock, and per second of processor time, which a busy machine does not stretch as much. */
async function best(count: number, work: () => Promise<void>) {
  let clock = 0
  let processor = 0
  for (let i = 0; i < 4; i++) {
    const started = performance.now()
    const used = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(used)
    clock = Math.max(clock, (count * 1000) / (performance.now() - started))
    processor = Math.max(processor, (count * 1e6) / (user + system))
  }
  return { clock, processor }
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-runelog-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const whole = (n: number) => Math.round(n).toLocaleString('en')
const line = (what: string, value: string, note = '') => console.log(`${what.padEnd(38)}${value.padStart(9)}   ${note}`)
const verdict = (met: boolean, target: string) => `${met ? 'reached' : 'MISSED'}: ${target}`

await round(3)
const measured: (readonly Measured[])[] = []
for (let i = 0; i < rounds; i++) measured.push(await round(10))
const small = await log(1000)
const large = await log(100_000)

const load = loadavg().map((l) => l.toFixed(1))
console.log(`Node ${process.version}, ${cpus().length} cores, load ${load.join(' ')}, median of ${rounds} rounds`)
for (const [i, { label, target }] of contenders.entries()) {
  const rates = measured.map((all) => all[i]?.rate ?? 0)
  const ratio = median(measured.map((all) => (all[i]?.rate ?? 0) / (all[0]?.rate ?? 0)))
  const loop = median(measured.map((all) => all[i]?.delay ?? 0))
  const met = target === undefined ? '' : `; ${verdict(ratio >= target, `≥ ${target}`)}`
  line(
    label,
    whole(median(rates)),
    i === 0 ? '' : `${ratio.toFixed(2)} × the floor${met}; event loop p99 ${loop.toFixed(1)} ms`,
  )
}
const drift = Math.abs(large.bytes / small.bytes - 1)
const limit = 2 * payloadBytes + 600
line('bytes on disk per rune, of 1,000', whole(small.bytes))
const lean = verdict(drift <= 0.05 && large.bytes <= limit, `within 5 %, ≤ ${whole(limit)}`)
line('bytes on disk per rune, of 100,000', whole(large.bytes), `${lean}; ${(drift * 100).toFixed(1)} % apart`)
for (const [label, { clock, processor }, target] of [
  ['replay, runes/s', large.replay, 150_000],
  ['verify, runes/s', large.verify, 100_000],
] as const)
  line(
    label,
    whole(clock),
    `${verdict(clock >= target, `≥ ${whole(target)}`)}; ${whole(processor)} per second of processor time`,
  )
