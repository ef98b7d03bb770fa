/** Appends of runes with a payload of 1 kB, by one writer and by 64 sessions, next to bare commits. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../src/adapters/sqlite/runelog.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import type { Draft } from '../../src/runes/rune.ts'
import { median, timed } from '../support/numbers.ts'
import { text } from '../support/text.ts'
import { processorTime } from '../support/usage.ts'

const payloadBytes = 1024
const content = text(payloadBytes - '{"channel":"text","content":"","offset":0,"round":1}'.length)
const result = text(payloadBytes - '{"result":""}'.length)

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
  /** Of bare commits; undefined where there is nothing to reach. */
  readonly target?: number
  readonly perSlice: number
  readonly open: (path: string) => Promise<{ slice(): Promise<void>; close(): Promise<void> }>
}

const floor: Contender = {
  label: 'bare commits/s',
  perSlice: 200,
  async open(path) {
    const db = new DatabaseSync(path)
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    db.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, payload TEXT)')
    const insert = db.prepare('INSERT INTO t (payload) VALUES (?)')
    const inserted = text(payloadBytes)
    return {
      async slice() {
        for (let i = 0; i < floor.perSlice; i++) insert.run(inserted)
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

export const contenders: readonly Contender[] = [
  floor,
  ours('1 writer, appends/s', { sessions: 1, draft: plain, target: 0.7 }),
  ours('1 writer, every rune a move', { sessions: 1, draft: moving }),
  ours('64 sessions, appends/s', { sessions: 64, draft: plain, target: 3 }),
  ours('64 sessions, every rune a move', { sessions: 64, draft: moving }),
]

export interface Measured {
  readonly rate: number
  /** Milliseconds of processor time per commit or append. */
  readonly processor_ms: number
  /** How long the event loop was kept from its next turn, in milliseconds. */
  readonly delay: number
}

/** One round: every contender on a new file, all open at once, in turns. */
export async function appends(file: () => string, slices: number): Promise<readonly Measured[]> {
  const entered = await Promise.all(
    contenders.map(async ({ open, perSlice }) => ({
      ...(await open(file())),
      perSlice,
      spent: 0,
      used: 0,
      delays: [] as number[],
    })),
  )
  for (let i = 0; i < slices; i++)
    for (const contender of entered) {
      const loop = monitorEventLoopDelay({ resolution: 1 })
      loop.enable()
      const used = processorTime()
      contender.spent += await timed(contender.slice)
      contender.used += processorTime() - used
      loop.disable()
      contender.delays.push(loop.percentile(99) / 1e6)
    }
  for (const { close } of entered) await close()
  return entered.map(({ perSlice, spent, used, delays }) => ({
    rate: (perSlice * slices * 1000) / spent,
    processor_ms: used / (perSlice * slices),
    delay: median(delays),
  }))
}
