import { setTimeout as delay } from 'node:timers/promises'
import { createStatewright, type Statewright } from '../../src/index.ts'
import { subjects } from '../../src/runelog/models.ts'
import { faultAgents, type Kind, lease_ms, type Order, pay_timeout_ms } from './agents.ts'
import type { startBank } from './bank.ts'

interface Job {
  readonly run_id: string
  readonly session_id: string
  readonly kind: Kind
  readonly order: number
  state: string
  /** When its log last grew, by our own monotonic clock, and how long it was then. */
  grew_at: number
  length: number
}

export interface Stuck {
  readonly run_id: string
  readonly kind: Kind
  readonly state: string
  readonly ms: number
}

const over: ReadonlySet<string> = new Set(['succeeded', 'failed', 'canceled'])

/**
 * The client of the fault loop: it submits runs, answers questions truthfully
 * as of the moment it answers, and remembers what was acknowledged to it.
 */
export async function startOperator(url: string, bank: Awaited<ReturnType<typeof startBank>>, chance: () => number) {
  const sw: Statewright = await createStatewright({
    store: url,
    agents: faultAgents(),
    settings: { leaseMs: lease_ms },
    maxConcurrentRuns: 0,
    warn: () => {},
  })
  const jobs = new Map<string, Job>()
  const answers = new Map<string, { readonly session_id: string; readonly said: string }>()
  const refusals = new Map<string, number>()
  let submitted = 0
  let slowest_submit_ms = 0
  let longest_still_ms = 0
  const stuck = new Map<string, Stuck>()

  const open = () => [...jobs.values()].filter(({ state }) => !over.has(state))

  async function submit(kinds: readonly Kind[]): Promise<void> {
    const order = ++submitted
    const kind = kinds[Math.floor(chance() * kinds.length)] as Kind
    const pace = chance()
    const before_ms =
      pace < 0.5 ? 100 * chance() : pace < 0.7 ? 2 * pay_timeout_ms * chance() : 1_000 + 2_000 * chance()
    const input = { order, before_ms: Math.round(before_ms), after_ms: Math.round(100 * chance()) } satisfies Order
    const begun = performance.now()
    for (;;) {
      try {
        const { runId, sessionId } = await sw.runs.start({
          agent: kind,
          input,
          idempotencyKey: `order-${order}-${kind}`,
        })
        const now = performance.now()
        slowest_submit_ms = Math.max(slowest_submit_ms, now - begun)
        jobs.set(runId, { run_id: runId, session_id: sessionId, kind, order, state: 'queued', grew_at: now, length: 0 })
        return
      } catch (error) {
        count(error)
        await delay(100)
      }
    }
  }

  function count(error: unknown) {
    const name = (error as { code?: string }).code ?? (error as Error).name
    refusals.set(name, (refusals.get(name) ?? 0) + 1)
  }

  async function answer(): Promise<void> {
    const inbox = await sw.inbox.list()
    for (const { interaction_id, interaction_kind, session_id, run_id } of inbox) {
      const job = jobs.get(run_id ?? '')
      const reply =
        interaction_kind === 'settlement'
          ? bank.isBooked(job?.order ?? 0)
            ? { outcome: 'happened' as const }
            : { outcome: 'did_not' as const, reason: 'The bank has no booking for this order.' }
          : { decision: 'approve' as const }
      try {
        await sw.inbox.reply(interaction_id, { reply })
        answers.set(interaction_id, { session_id, said: 'outcome' in reply ? reply.outcome : reply.decision })
      } catch (error) {
        count(error)
      }
    }
  }

  async function look(): Promise<void> {
    for (const job of open()) {
      const [subject, head] = await Promise.all([sw.runelog.row(subjects, job.run_id), sw.runelog.head(job.session_id)])
      const now = performance.now()
      job.state = subject?.value.state ?? job.state
      const length = head?.event_id ?? 0
      if (length > job.length || over.has(job.state)) {
        job.length = length
        job.grew_at = now
      }
      const ms = Math.round(now - job.grew_at)
      longest_still_ms = Math.max(longest_still_ms, ms)
      if (ms > 60_000) stuck.set(job.run_id, { run_id: job.run_id, kind: job.kind, state: job.state, ms })
    }
  }

  /** Repeats until told to stop; a database that is away is part of the game. */
  function repeat(work: () => Promise<void>, pause_ms: number) {
    let isOn = true
    const loop = (async () => {
      while (isOn) {
        await work().catch(count)
        await delay(pause_ms)
      }
    })()
    return () => {
      isOn = false
      return loop
    }
  }

  const stopAnswering = repeat(answer, 100)
  const stopLooking = repeat(look, 250)

  return {
    submit,
    open: () => open().length,
    submitted: () => submitted,
    report: () => ({
      runs: jobs.size,
      states: Object.fromEntries(
        [...Map.groupBy(jobs.values(), ({ state }) => state)].map(([state, all]) => [state, all.length]),
      ),
      answers: answers.size,
      refusals: Object.fromEntries(refusals),
      slowest_submit_ms: Math.round(slowest_submit_ms),
      longest_still_ms,
      stuck: [...stuck.values()],
    }),
    /** Acknowledged submissions and answers that the record does not have. */
    async lost(): Promise<readonly string[]> {
      const missing: string[] = []
      for (const { run_id, session_id } of jobs.values()) {
        const runes = await sw.runelog.read(session_id)
        if (!runes.some((rune) => rune.kind === 'run.submitted' && rune.run_id === run_id)) missing.push(run_id)
        for (const [interaction_id, { session_id: of, said }] of answers)
          if (of === session_id && !runes.some((r) => r.interaction_id === interaction_id && r.to === 'answered'))
            missing.push(`${interaction_id} (${said})`)
      }
      return missing
    },
    /** Runs that did not succeed, with what the record says of them. */
    async failures(): Promise<readonly string[]> {
      const found: string[] = []
      for (const { run_id, session_id, kind, state } of jobs.values()) {
        if (state === 'succeeded') continue
        const runes = await sw.runelog.read(session_id)
        const last = runes.findLast((rune) => rune.kind === 'run.moved' && rune.run_id === run_id)
        found.push(`${kind} ${run_id} ${state} ${JSON.stringify(last?.payload)}`)
      }
      return found
    },
    runelog: sw.runelog,
    async close() {
      await Promise.all([stopAnswering(), stopLooking()])
      await sw.close()
    },
  }
}
