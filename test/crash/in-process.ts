import { hostPorts } from '../../src/adapters/host/ports.ts'
import { createTestClock } from '../../src/adapters/system/testing.ts'
import { openStore, type Store } from '../../src/app/open-store.ts'
import { createStatewright } from '../../src/app/statewright.ts'
import type { Tool } from '../../src/runtime/tools/tool.ts'
import { drive } from './driver.ts'
import { dyingStore } from './dying-store.ts'
import { createLife, type Life } from './life.ts'
import { createOutside, type Outside } from './outside.ts'
import { createAgents, type Play } from './plays.ts'
import { quiet } from './quiet.ts'
import { createTools } from './tools.ts'
import { orphanProblems, verdict } from './verdict.ts'

/** The parts of one life. A broken build changes a part of it. */
export interface Parts {
  readonly store: Store
  readonly tools: readonly Tool[]
  readonly outside: Outside
}

export type Build = (parts: Parts, life: Life) => Parts

export interface Played {
  readonly problems: readonly string[]
  /** How many points each life passed. */
  readonly points: readonly number[]
  /** Where each but the last life died. */
  readonly deaths: readonly string[]
  readonly disk: Store
}

/** Longer than any life takes; one that gets there hangs. */
const deadline_ms = 20_000

/**
 * Plays to the end through one life after the other. Life number i dies at its
 * point number `deaths[i]`; the one after the last given death lives. The
 * memory store is the disk: it survives, and nothing else does.
 */
export async function playThrough(
  plays: readonly Play[],
  deaths: readonly number[],
  build: Build = (parts) => parts,
): Promise<Played> {
  const roles = plays.flatMap((play) => play.roles)
  const outside = createOutside()
  let now = 1_700_000_000_000
  const disk = await openStore('memory:', { ports: { ...hostPorts, now: () => now } })
  let names = 0
  const ids = { next: (prefix: string) => `${prefix}_${String(++names).padStart(4, '0')}` }
  const points: number[] = []
  const died: string[] = []
  const problems: string[] = []

  async function live(life: Life) {
    const hand = createTestClock(now + 1)
    const parts = { store: dyingStore(disk, life, outside), tools: createTools(outside, life), outside }
    const { store, tools, outside: told } = build(parts, life)
    const sw = await createStatewright({
      store,
      agents: createAgents(roles, tools),
      warn: (message, details) => void problems.push(`${message}: ${JSON.stringify(details)}`),
      ports: {
        clock: hand.clock,
        timers: hand.timers,
        random: () => 1,
        ids,
        store: { ...hostPorts, now: hand.clock.now },
      },
    })
    await drive(
      {
        sw,
        outside: told,
        quiet: () => quiet(life),
        letTimePass: async () => {
          await hand.advance(16 * 60_000)
          now = hand.clock.now()
        },
      },
      roles,
    )
    await sw.close()
  }

  for (const diesAt of [...deaths, undefined]) {
    const life = createLife(diesAt)
    const lived = live(life).catch((error) => void problems.push(String((error as Error)?.stack ?? error)))
    await within(Promise.race([lived, life.death.then((label) => void died.push(label))])).catch(() =>
      problems.push('it hangs'),
    )
    points.push(life.passed())
    if (!life.isOver()) break
  }
  return {
    problems: [...problems, ...(await verdict(disk.runelog, outside, roles)), ...(await orphanProblems(disk.runelog))],
    points,
    deaths: died,
    disk,
  }
}

async function within(work: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(late.reject, deadline_ms, new Error('late'))
  await Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}
