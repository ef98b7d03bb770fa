import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Effect, Step } from './actor.ts'
import { gatesIn } from './gates.ts'
import { type Ended, type Process, runToEnd, start } from './process.ts'
import { type Heard, listen } from './streams.ts'

export type Data = Readonly<Record<string, unknown>>

/** A record as the server shows it. */
export interface Rune {
  readonly event_id: number
  readonly kind: string
  readonly at: number
  readonly actor: string
  readonly actor_category: string
  readonly visibility: string
  readonly machine?: string
  readonly subject_id?: string
  readonly from?: string | null
  readonly to?: string
  readonly trigger?: string | null
  readonly run_id?: string
  readonly agent_id?: string
  readonly turn_id?: string
  readonly call_id?: string
  readonly execution_id?: string
  readonly interaction_id?: string
  readonly payload: Data
}

export interface Snapshot extends Data {
  readonly execution_id: string
  readonly action_type: string
  readonly action_summary: string
  readonly current_status: string
  readonly created_at: number
  readonly transition_count: number
}

export interface Timeline extends Data {
  readonly contracts: readonly Snapshot[]
  readonly transitions: readonly (Data & { readonly execution_id: string; readonly timestamp: number })[]
}

export interface Question extends Data {
  readonly interaction_id: string
  readonly execution_id: string | null
  readonly interaction_kind: string
  readonly prompt: string
  readonly digest: string | null
}

export interface Run extends Data {
  readonly run_id: string
  readonly session_id: string
  readonly agent_id: string
  readonly status: string
  readonly is_terminal: boolean
}

export interface Answered<T> {
  readonly status: number
  readonly headers: Headers
  readonly body: T
}

export interface Asking {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly token?: string
}

const config = fileURLToPath(new URL('./house.config.ts', import.meta.url))

/**
 * A server of the actors, in a process of its own, for all tests of a file. It is asked over HTTP and through the command line. When the file is
 * done, every log that it wrote is verified by the command that a user would verify it with.
 */
export function openHouse() {
  const folder = mkdtempSync(join(tmpdir(), 'statewright-outside-'))
  const token = randomBytes(24).toString('hex')
  const gates = gatesIn(folder)
  const env = { OUTSIDE_FOLDER: folder, OUTSIDE_TOKEN: token, STATEWRIGHT_HOME: join(folder, 'home') }
  let server: Process | undefined
  let url = ''
  let gatesMade = 0

  async function begin(more: Readonly<Record<string, string>> = {}): Promise<void> {
    server = start(['serve', '--config', config, '--port', '0'], { ...env, ...more })
    const [, found = ''] = await server.prints(/on (https?:\S+)\n/)
    url = found
  }
  const cli = (...args: readonly string[]): Promise<Ended> =>
    runToEnd([...args, '--config', config], { ...env, STATEWRIGHT_TOKEN: token })

  beforeAll(() => begin())
  afterAll(async () => {
    await server?.kill('SIGTERM')
    const verified = await runToEnd(['verify', '--store', `sqlite:${folder}/outside.db`], env)
    rmSync(folder, { recursive: true, force: true })
    if (verified.exit !== 0) throw new Error(`The logs do not verify: ${verified.out}${verified.err}`)
  })

  async function ask<T>(method: string, path: string, asking: Asking = {}): Promise<Answered<T>> {
    const { body, headers = {}, token: own = token } = asking
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${own}`,
        // It hangs up on those who were silent for some seconds, perhaps at the moment in which they speak again.
        connection: 'close',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: (text === '' ? null : JSON.parse(text)) as T }
  }
  async function accepted<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await ask<T>(method, path, body === undefined ? {} : { body })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const get = <T = Data>(path: string) => accepted<T>('GET', path)
  const post = <T = Data>(path: string, body: unknown = {}) => accepted<T>('POST', path, body)
  const run = (run_id: string) => get<Run>(`/api/runs/${run_id}`)

  /** Looks at a run until it has come to where it should, and gives it back. */
  async function reaches(run_id: string, ...statuses: readonly string[]): Promise<Run> {
    let seen = await run(run_id)
    const look = async () => {
      seen = await run(run_id)
      return seen.status
    }
    await expect.poll(look).toSatisfy((status: string) => statuses.includes(status))
    return seen
  }

  /** The question of a run, once it waits. */
  async function asks(run_id: string): Promise<readonly Question[]> {
    await reaches(run_id, 'waiting_user')
    return (await get<{ interactions: readonly Question[] }>(`/api/runs/${run_id}/interaction`)).interactions
  }

  return {
    folder,
    token,
    ...gates,
    /** A name for a gate that no other test has. */
    gate: () => `g${++gatesMade}`,
    url: () => url,
    pid: () => server?.pid ?? 0,
    cli,
    ask,
    get,
    post,
    run,
    reaches,
    /** Kills the server where it stands, and starts another one on the same store. */
    async killed(more: Readonly<Record<string, string>> = {}): Promise<void> {
      await server?.kill('SIGKILL')
      await begin(more)
    },
    /** Kills the server, and starts another one on the same store when all that happens without one has happened. */
    async without(use: () => Promise<void>): Promise<void> {
      await server?.kill('SIGKILL')
      await use().finally(() => begin({}))
    },
    /** The server is told to stop, and ends in good order; another one is started on the same store. */
    async restarted(more: Readonly<Record<string, string>> = {}): Promise<void> {
      await server?.kill('SIGTERM')
      await begin(more)
    },
    /** Resolves when the server has ended by itself. */
    over: async () => void (await server?.over),
    log: () => server?.heard ?? { out: '', err: '' },
    /** Gives an agent a script to play. */
    submit: (script: readonly Step[] | string, more: Data = {}) =>
      post<{ session_id: string; run_id: string }>('/api/runs', { agent: 'actor', input: script, ...more }),
    ends: (run_id: string) => reaches(run_id, 'succeeded', 'failed', 'canceled'),
    asks,
    /** The one thing that a run asks, once it waits and asks something else than before. */
    async asksOne(run_id: string, before?: Question): Promise<Question> {
      await expect.poll(async () => (await asks(run_id))[0]?.interaction_id).not.toBe(before?.interaction_id)
      const [question, ...others] = await asks(run_id)
      if (question === undefined || others.length > 0) throw new Error(`${run_id} does not ask one thing.`)
      return question
    },
    /** Every public record of a session, oldest first, or those of some kinds. */
    async runes(session_id: string, ...kinds: readonly string[]): Promise<readonly Rune[]> {
      const all: Rune[] = []
      for (let after: number | null = 0; after !== null; ) {
        const page: { items: readonly Rune[]; next: number | null } = await get(
          `/api/sessions/${session_id}/runes?after=${after}&limit=200`,
        )
        all.push(...page.items)
        after = page.next
      }
      return kinds.length === 0 ? all : all.filter((rune) => kinds.includes(rune.kind))
    },
    timeline: (session_id: string) => get<Timeline>(`/api/execution/${session_id}/timeline`),
    snapshot: (execution_id: string) => get<Snapshot>(`/api/execution/${execution_id}/snapshot`),
    consequence: (execution_id: string) => get(`/api/execution/${execution_id}/consequence`),
    approve: ({ interaction_id, digest }: Question) =>
      post(`/api/interactions/${interaction_id}/approve`, digest === null ? {} : { digest }),
    deny: ({ interaction_id }: Question, reason: string) =>
      post(`/api/interactions/${interaction_id}/deny`, { reason }),
    answer: ({ interaction_id }: Question, reply: unknown, more: Data = {}) =>
      post(`/api/interactions/${interaction_id}/answer`, { reply, ...more }),
    stream: (path: string, until?: (heard: readonly Heard[]) => boolean, headers = {}) =>
      listen({ url: `${url}${path}`, token, headers, ...(until === undefined ? {} : { until }) }),
    /** The notes of the tools for one execution, or for one tool. */
    effects: (of: string) =>
      gates.notes<Effect>('effects').filter(({ tool, execution_id }) => tool === of || execution_id === of),
    /** Waits until the actor's tool has begun in this execution. */
    async begins(execution_id: string): Promise<void> {
      await expect.poll(() => gates.notes<Effect>('effects').some((e) => e.execution_id === execution_id)).toBe(true)
    },
  }
}

export type House = ReturnType<typeof openHouse>
