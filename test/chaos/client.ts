import { setTimeout as delay } from 'node:timers/promises'
import { type Kind, type Order, pay_timeout_ms } from './agents.ts'
import type { startBank } from './bank.ts'
import type { Life } from './lives.ts'

interface Job {
  readonly order: number
  readonly kind: Kind
  readonly session_id: string
  readonly body: object
  status: string
  /** When its status was last seen to change, by our own monotonic clock. */
  moved_at: number
  since: number
}

interface Reply {
  readonly path: string
  readonly body: object
  readonly session_id: string
}

interface ListedRun {
  readonly run_id: string
  readonly status: string
  readonly since: number
}

interface Waiting {
  readonly interaction_id: string
  readonly interaction_kind: string
  readonly session_id: string
  readonly run_id: string | null
}

const unfinished = ['queued', 'running', 'waiting_user']
const kinds: readonly Kind[] = ['payer', 'payer', 'prober', 'prober', 'stubborn', 'reader', 'signer']

/**
 * A client outside the process: it submits runs and answers questions over
 * HTTP, truthfully as of the moment it answers, and remembers what was
 * acknowledged to it. A request whose answer was lost is sent again as it was.
 */
export function createClient(bank: Awaited<ReturnType<typeof startBank>>, chance: () => number) {
  const jobs = new Map<string, Job>()
  const answers = new Map<string, string>()
  /** Replies whose answers were lost. */
  const unsure = new Map<string, Reply>()
  const surprises: string[] = []
  const stuck = new Map<string, { readonly status: string; readonly ms: number }>()
  let [submitted, resent, tooEarly, longest_still_ms] = [0, 0, 0, 0]
  let life: Life | undefined
  let isClosed = false

  /** The answer of the process that lives now; undefined if it died before it did. */
  async function ask(path: string, body?: object, key?: string) {
    const asked = life
    if (asked === undefined) return undefined
    const headers = key === undefined ? {} : { 'idempotency-key': key }
    return asked.ask(path, { ...(body !== undefined && { body }), headers }).catch(() => undefined)
  }

  /** Sends it until it is answered, over as many lives as it takes; undefined if it is not wanted any more. */
  async function insist(path: string, body: object, key: string) {
    for (;;) {
      const answer = await ask(path, body, key)
      if (answer !== undefined) return answer
      if (isClosed) return undefined
      await delay(20)
    }
  }

  function orderOf(order: number, kind: Kind): object {
    const pace = chance()
    const before_ms =
      pace < 0.7 ? 100 * chance() : pace < 0.9 ? 2 * pay_timeout_ms * chance() : 1_000 + 1_000 * chance()
    const input = { order, before_ms: Math.round(before_ms), after_ms: Math.round(100 * chance()) } satisfies Order
    return { agent: kind, input }
  }

  async function submit(): Promise<void> {
    const order = ++submitted
    const kind = kinds[Math.floor(chance() * kinds.length)] as Kind
    const body = orderOf(order, kind)
    const answer = await insist('/api/runs', body, `order-${order}`)
    if (answer === undefined || answer.status >= 300)
      return void surprises.push(`order ${order} was refused: ${answer?.text}`)
    const { run_id, session_id } = answer.json as { run_id: string; session_id: string }
    if (jobs.has(run_id)) surprises.push(`order ${order} got a run of another order: ${run_id}`)
    jobs.set(run_id, { order, kind, session_id, body, status: 'queued', moved_at: performance.now(), since: 0 })
  }

  /** Sends an acknowledged submission once more. It must be answered with the same run. */
  async function repeat(): Promise<void> {
    const known = [...jobs]
    const [run_id, job] = known[Math.floor(chance() * known.length)] ?? []
    if (job === undefined) return
    const answer = await ask('/api/runs', job.body, `order-${job.order}`)
    if (answer === undefined) return
    resent += 1
    if (answer.json?.run_id !== run_id)
      surprises.push(`order ${job.order}, sent again, was not ${run_id}: ${answer.text}`)
  }

  async function answer(): Promise<void> {
    for (const [interaction_id, reply] of unsure) {
      const card = await ask(`/api/interactions/${interaction_id}`)
      if (card === undefined) return
      // It did not arrive: the inbox has the question still, and what is true may have changed.
      if (card.json?.state !== 'answered') unsure.delete(interaction_id)
      else if (await send(interaction_id, reply)) resent += 1
    }
    const inbox = await ask('/api/inbox?limit=200')
    for (const { interaction_id, interaction_kind, session_id, run_id } of (inbox?.json?.items ?? []) as Waiting[]) {
      const job = jobs.get(run_id ?? '')
      // Its submission was not acknowledged yet.
      if (job === undefined) continue
      const path = `/api/interactions/${interaction_id}`
      const reply: Reply =
        interaction_kind !== 'settlement'
          ? { path: `${path}/approve`, body: {}, session_id }
          : bank.isBooked(job.order)
            ? { path: `${path}/settle`, body: { outcome: 'happened' }, session_id }
            : {
                path: `${path}/settle`,
                body: { outcome: 'did_not', reason: 'There is no booking.' },
                session_id,
              }
      await send(interaction_id, reply)
    }
  }

  async function send(interaction_id: string, reply: Reply): Promise<boolean> {
    const said = JSON.stringify(reply.body)
    const got = await ask(
      reply.path,
      reply.body,
      `${interaction_id}-${Buffer.from(said).toString('base64url').slice(0, 60)}`,
    )
    if (got === undefined) {
      unsure.set(interaction_id, reply)
      return false
    }
    unsure.delete(interaction_id)
    if (got.status < 300) answers.set(interaction_id, reply.session_id)
    // The tool runs still, or has acted since the bank was asked: the question stays in the inbox. Look again.
    else if (['too_early', 'reply_unfit'].includes(got.json?.code)) tooEarly += 1
    else surprises.push(`${interaction_id} ${said} was refused: ${got.text}`)
    return true
  }

  async function look(): Promise<void> {
    const listed = new Map<string, ListedRun>()
    for (const status of unfinished) {
      const page = await ask(`/api/runs?status=${status}&limit=200`)
      if (page === undefined) break
      for (const run of page.json.items as ListedRun[]) listed.set(run.run_id, run)
    }
    for (const [run_id, job] of jobs) {
      if (!unfinished.includes(job.status)) continue
      // It is over, or it moved from one list to another meanwhile.
      const seen = listed.get(run_id) ?? ((await ask(`/api/runs/${run_id}`))?.json as ListedRun | undefined)
      const now = performance.now()
      if (seen?.status !== undefined && (seen.status !== job.status || seen.since !== job.since)) {
        job.status = seen.status
        job.since = seen.since
        job.moved_at = now
      }
      const ms = Math.round(now - job.moved_at)
      longest_still_ms = Math.max(longest_still_ms, ms)
      if (ms > 60_000) stuck.set(run_id, { status: job.status, ms })
    }
  }

  const open = () => [...jobs.values()].filter(({ status }) => unfinished.includes(status)).length

  return {
    submit,
    repeat,
    answer,
    look,
    open,
    submitted: () => submitted,
    /** From now on it talks to this process. */
    meet(now: Life | undefined) {
      life = now
    },
    /** Insists no more. */
    close() {
      isClosed = true
    },
    jobs: jobs as ReadonlyMap<string, Job>,
    /** Acknowledged answers, each with its session. */
    answers: answers as ReadonlyMap<string, string>,
    report: () => ({
      runs: jobs.size,
      statuses: Object.fromEntries(
        [...Map.groupBy(jobs.values(), ({ status }) => status)].map(([status, all]) => [status, all.length]),
      ),
      answers: answers.size,
      resent,
      too_early: tooEarly,
      longest_still_ms,
      stuck: [...stuck],
      surprises,
    }),
  }
}
