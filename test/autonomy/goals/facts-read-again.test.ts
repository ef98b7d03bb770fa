import { expect, onTestFinished, test } from 'vitest'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { canonicalJson } from '../../../src/kernel/json.ts'
import { readGuardsAgain } from '../../../src/observation/readings.ts'
import { link, payloadDigest, type Rune, type StoredRecord } from '../../../src/runes/rune.ts'
import { createVerifier } from '../../../src/runes/verify.ts'
import { content, critic, note, planOf, worker } from '../../scenarios/goal-cast.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { verifierPorts } from '../../support/verifier.ts'
import { createWorld, type World } from '../../support/world.ts'

const registry = registryIn(scratchFolder('facts-read-again').fresh())
const { sha256 } = hostPorts

interface Case {
  readonly guard: string
  readonly goal: object
  /** The rune that the guard rests on, and what someone makes of its payload. */
  readonly kind: Rune['kind']
  readonly change: readonly [from: string | RegExp, to: string]
  readonly act?: (world: World, goal_id: string) => Promise<unknown>
}

const one = planOf(note('ta'))
const issue = { findings: [{ severity: 'error', title: 'Again', task: 'ta', suggested_fix: 'Do it again.' }] }

// biome-ignore format: one row for each
const cases: readonly Case[] = [
  { guard: 'condition_holds', kind: 'task.condition_decided', change: ['"holds":true', '"holds":false'],
    goal: { plan: planOf(note('ta'), { ...note('tb', 'ta'), condition: 'rule: context.tasks.ta.result like "*done*"' }), auto: true } },
  { guard: 'revise', kind: 'interaction.answered', change: ['"decision":"deny"', '"decision":"approve"'],
    goal: { plan: one }, act: ({ sw }, goal_id) => sw.goals.reject(goal_id) },
  { guard: 'retry', kind: 'plan.updated', change: [/"task_ids":\[[^\]]*\]/, '"task_ids":[]'],
    goal: { plan: one, auto: true, critic: 'critic' } },
]

/** The log with the payload of one rune changed, hashed again by someone who has no key. */
function changed(log: readonly StoredRecord[], { kind, change: [from, to] }: Case): readonly StoredRecord[] {
  const place = log.findIndex(({ header, payload }) => JSON.parse(header).kind === kind && payload.search(from) >= 0)
  let hash = log[place - 1]?.hash ?? ''
  return log.map((record, i) => {
    if (i < place) return record
    const payload = i === place ? record.payload.replace(from, to) : record.payload
    const digest = payloadDigest(record.salt ?? '', payload, sha256)
    const header = canonicalJson({ ...JSON.parse(record.header), payload_sha256: digest })
    hash = link(hash, header, sha256)
    return { ...record, header, payload, hash }
  })
}

test.each(cases)('audit: the guard $guard of a goal is read again from the record', async (play) => {
  const agents = { worker: worker(), critic: critic(issue, content) }
  const world = await createWorld({ agents, plans: { registry } })
  onTestFinished(() => world.end())
  const { goalId, sessionId } = await world.sw.goals.start({ goal: 'Facts', ...play.goal })
  await world.sw.idle()
  await play.act?.(world, goalId)
  await world.sw.idle()
  const log = await Array.fromAsync(world.sw.runelog.records(sessionId))
  expect(log.some(({ header }) => header.includes(`"guard":"${play.guard}"`))).toBe(true)

  const { take } = createVerifier(sessionId, { ...verifierPorts, readAgain: readGuardsAgain })
  const bad = changed(log, play).map(take).find(Boolean)
  expect(bad?.problem).toMatch(new RegExp(`^its guard ${play.guard} did not hold`))
})
