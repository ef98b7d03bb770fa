/**
 * What durability costs. Every figure is for runes with a payload of 1 KB. The
 * floor is the least that can be done: node:sqlite, one table, one insert per
 * synced commit. Rounds are interleaved and the median is taken, since the
 * machine may be busy with other things: judge by the ratios.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { hostPorts } from '../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../src/adapters/sqlite/runelog.ts'
import type { Runelog } from '../src/runelog/port.ts'
import type { Draft } from '../src/runes/rune.ts'
import { createVerifier } from '../src/runes/verify.ts'

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

async function inFolder<T>(work: (path: string, size: () => number) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-runelog-'))
  const size = () => readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
  try {
    return await work(join(folder, 'store.db'), size)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function perSecond(count: number, work: () => Promise<void> | void): Promise<number> {
  const started = performance.now()
  await work()
  return (count * 1000) / (performance.now() - started)
}

const floor = (count: number) =>
  inFolder(async (path) => {
    const db = new DatabaseSync(path)
    db.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, payload TEXT)',
    )
    const insert = db.prepare('INSERT INTO t (payload) VALUES (?)')
    const text = 'x'.repeat(payloadBytes)
    const rate = await perSecond(count, () => {
      for (let i = 0; i < count; i++) insert.run(text)
    })
    db.close()
    return rate
  })

async function withStore<T>(sessions: number, work: (store: Runelog) => Promise<T>): Promise<T> {
  return inFolder(async (path) => {
    const store = await openSqliteRunelog(path, hostPorts)
    for (let i = 0; i < sessions; i++)
      await store.append({ session_id: `ses_${i}`, runes: [created(`ses_${i}`), ...contract(`exe_${i}`)] })
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  })
}

const appends = (count: number, sessions: number, draft: (subject_id: string, i: number) => Draft) =>
  withStore(sessions, (store) =>
    perSecond(count, async () => {
      const each = Math.floor(count / sessions)
      const session = async (n: number) => {
        for (let i = 0; i < each; i++) await store.append({ session_id: `ses_${n}`, runes: [draft(`exe_${n}`, i)] })
      }
      await Promise.all(Array.from({ length: sessions }, (_, n) => session(n)))
    }),
  )

const plain = () => delta()
const moving = (subject_id: string, i: number) => moved(subject_id, i % 2 === 0)

async function log(count: number): Promise<{ bytes: number; replay: number; verify: number }> {
  return inFolder(async (path, size) => {
    const store = await openSqliteRunelog(path, hostPorts)
    await store.append({ session_id: 'ses_1', runes: [created('ses_1')] })
    for (let i = 1; i < count; i += 500)
      await store.append({ session_id: 'ses_1', runes: Array.from({ length: Math.min(500, count - i) }, delta) })
    const replay = Math.max(await perSecond(count, replayed), await perSecond(count, replayed))
    const verify = Math.max(await perSecond(count, verified), await perSecond(count, verified))
    await store.close()
    return { bytes: size() / count, replay, verify }

    async function replayed() {
      if ((await store.rebuild()) !== count) throw new Error('The replay missed a rune.')
    }
    async function verified() {
      const verifier = createVerifier('ses_1', hostPorts.sha256)
      for await (const record of store.records('ses_1'))
        if (verifier.take(record) !== undefined) throw new Error('The log does not verify.')
      if (verifier.end() !== undefined || verifier.head().event_id !== count)
        throw new Error('The log does not verify.')
    }
  })
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const figures = {
  floor: () => floor(3000),
  one: () => appends(3000, 1, plain),
  oneMoving: () => appends(3000, 1, moving),
  many: () => appends(32_000, 64, plain),
  manyMoving: () => appends(32_000, 64, moving),
}
const measured: Record<keyof typeof figures, number[]> = { floor: [], one: [], oneMoving: [], many: [], manyMoving: [] }
for (let round = 0; round <= rounds; round++)
  for (const [name, measure] of Object.entries(figures) as [keyof typeof figures, () => Promise<number>][]) {
    const rate = await measure()
    // The first round warms the code up.
    if (round > 0) measured[name].push(rate)
  }
const small = await log(1000)
const large = await log(100_000)

const least = median(measured.floor)
const whole = (n: number) => Math.round(n).toLocaleString('en')
const line = (what: string, value: string, note = '') =>
  console.log(`${what.padEnd(42)}${value.padStart(12)}   ${note}`)
const verdict = (met: boolean, target: string) => `${met ? 'reached' : 'MISSED'}: ${target}`
const ratio = (name: keyof typeof figures, target?: number) => {
  const times = median(measured[name].map((rate, i) => rate / (measured.floor[i] ?? least)))
  const note = `${times.toFixed(2)} × the floor`
  line(
    labels[name],
    whole(median(measured[name])),
    target === undefined ? note : `${note}; ${verdict(times >= target, `≥ ${target}`)}`,
  )
}
const labels = {
  floor: 'raw floor, commits/s',
  one: '1 writer, appends/s',
  oneMoving: '1 writer, every rune a move',
  many: '64 sessions, appends/s',
  manyMoving: '64 sessions, every rune a move',
}

console.log(
  `Node ${process.version}, ${cpus().length} cores, load ${loadavg()
    .map((l) => l.toFixed(1))
    .join(' ')}, median of ${rounds} rounds`,
)
line(labels.floor, whole(least))
ratio('one', 0.7)
ratio('oneMoving')
ratio('many', 3)
ratio('manyMoving')
const drift = Math.abs(large.bytes / small.bytes - 1)
line('bytes on disk per rune, of 1,000', whole(small.bytes))
line(
  'bytes on disk per rune, of 100,000',
  whole(large.bytes),
  `${verdict(drift <= 0.05 && large.bytes <= 2 * payloadBytes + 600, `within 5 %, ≤ ${2 * payloadBytes + 600}`)} (${(drift * 100).toFixed(1)} %)`,
)
line('replay, runes/s', whole(large.replay), verdict(large.replay >= 150_000, '≥ 150,000'))
line('verify, runes/s', whole(large.verify), verdict(large.verify >= 100_000, '≥ 100,000'))
