import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { createTestClock } from '../../src/adapters/system/testing.ts'
import { createStatewright, type Statewright, type StatewrightOptions } from '../../src/app/statewright.ts'
import type { Json } from '../../src/kernel/json.ts'
import type { Rune } from '../../src/runes/rune.ts'
import type { Reply } from '../../src/runtime/commands/reply.ts'
import type { Agent } from '../../src/runtime/define-agent.ts'
import { auditStore } from './audit-store.ts'

export type StoreKind = 'memory' | 'sqlite'

export interface WorldOptions extends Partial<Omit<StatewrightOptions, 'agents' | 'store' | 'ports'>> {
  readonly store?: StoreKind | StatewrightOptions['store']
  readonly agents: Readonly<Record<string, Agent>>
  /** Stands between the test and each process, such as a server that is asked over HTTP. */
  readonly through?: Through | undefined
  /** The test damages a log, so `end` does not audit the store. */
  readonly isDamaged?: boolean
}

export type Through = (sw: Statewright, now: () => number) => Promise<Statewright>

/** A whole Statewright of real parts, with time and names that the test moves. */
export async function createWorld({ store = 'memory', agents, through, isDamaged = false, ...options }: WorldOptions) {
  const hand = createTestClock(1_700_000_000_000)
  const folder = store === 'sqlite' ? mkdtempSync(join(tmpdir(), 'statewright-')) : undefined
  const url = store === 'memory' ? 'memory:' : store === 'sqlite' ? `sqlite:${folder}/world.db` : store
  const warnings: { message: string; details: object }[] = []
  let names = 0
  const ids = { next: (prefix: string) => `${prefix}_${String(++names).padStart(4, '0')}` }

  async function open(changes: Partial<WorldOptions> = {}): Promise<Statewright> {
    const sw = await createStatewright({
      store: url,
      agents,
      warn: (message, details) => warnings.push({ message, details }),
      ports: {
        clock: hand.clock,
        timers: hand.timers,
        random: () => 1,
        ids,
        store: { ...hostPorts, now: hand.clock.now },
      },
      ...options,
      ...(changes as object),
    })
    latest = sw
    return looking(through === undefined ? sw : await through(sw, hand.clock.now))
  }

  let latest: Statewright
  let sw = await open()
  let isOver = false
  return {
    get sw() {
      return sw
    },
    hand,
    warnings,
    /** Everything recorded in a session, oldest first. */
    runes: (session_id: string): Promise<readonly Rune[]> => sw.runelog.read(session_id),
    /** Waits until a rune like this is recorded, and gives it back. */
    async until(session_id: string, fits: (rune: Rune) => boolean): Promise<Rune> {
      const leave = new AbortController()
      const timer = setTimeout(() => leave.abort(), 20_000)
      try {
        for await (const rune of sw.runelog.follow(session_id, 0, leave.signal)) if (fits(rune)) return rune
      } finally {
        clearTimeout(timer)
        leave.abort()
      }
      throw new Error(
        `No such rune came within 20 s; there are ${(await sw.runelog.read(session_id)).map((r) => r.kind)}`,
      )
    },
    /** The process ends in good order and another one begins on the same store. */
    async restart(changes: Partial<WorldOptions> = {}) {
      await sw.close()
      sw = await open(changes)
      return sw
    },
    /** Another process begins on the same store, whatever became of the one before: that one is not asked. */
    async revive(changes: Partial<WorldOptions> = {}) {
      sw = await open(changes)
      return sw
    },
    /** Closes the store, and fails if `statewright verify` would find anything in it. A second call does nothing. */
    async end() {
      if (isOver) return
      isOver = true
      const problems = isDamaged ? [] : await auditStore(latest.runelog).catch((error) => [String(error)])
      await sw.close()
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
      if (problems.length > 0) throw new Error(`This store is not sound: ${problems.join('; ')}`)
    },
  }
}

/** A person in a test looks before they approve: an approval without a digest gets the one that they see. */
function looking(sw: Statewright): Statewright {
  const seen = async (interaction_id: string, given: Reply): Promise<Reply> => {
    const { decision, digest, ...rest } = Object(given.reply) as Record<string, Json>
    if (decision !== 'approve' || digest !== undefined) return given
    const opened = await sw.inbox.get(interaction_id).catch(() => ({ digest: null }))
    return opened.digest === null ? given : { ...given, reply: { decision, digest: opened.digest, ...rest } }
  }
  const inbox: Statewright['inbox'] = {
    ...sw.inbox,
    reply: async (id, given) => sw.inbox.reply(id, await seen(id, given)),
    answer: (id, reply, options) => inbox.reply(id, { reply, ...options }),
    approve: (id, { digest, ...options } = {}) =>
      digest == null
        ? inbox.reply(id, { reply: { decision: 'approve' }, ...options })
        : sw.inbox.approve(id, { digest, ...options }),
  }
  return { ...sw, inbox }
}

export type World = Awaited<ReturnType<typeof createWorld>>
