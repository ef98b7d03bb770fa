import { expect, onTestFinished, test } from 'vitest'
import { readGuardsAgain } from '../../../src/observation/readings.ts'
import type { Rune } from '../../../src/runes/rune.ts'
import { createVerifier } from '../../../src/runes/verify.ts'
import { content, critic, note, planOf, worker } from '../../scenarios/goal-cast.ts'
import { registryIn } from '../../support/goal-registry.ts'
import { type Piece, piecesOf, rehashed } from '../../support/records.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { verifierPorts } from '../../support/verifier.ts'
import { createWorld, type World } from '../../support/world.ts'

const registry = registryIn(scratchFolder('facts-read-again').fresh())

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

/** The runes with the payload of one changed. */
function changed(pieces: readonly Piece[], { kind, change: [from, to] }: Case): readonly Piece[] {
  const place = pieces.findIndex(({ header, payload }) => header.kind === kind && payload.search(from) >= 0)
  const piece = pieces[place] as Piece
  return pieces.with(place, { ...piece, payload: piece.payload.replace(from, to) })
}

test.each(cases)('audit: the guard $guard of a goal is read again from the record', async (play) => {
  const agents = { worker: worker(), critic: critic(issue, content) }
  const world = await createWorld({ agents, plans: { registry } })
  onTestFinished(() => world.end())
  const { goalId, sessionId } = await world.sw.goals.start({ goal: 'Facts', ...play.goal })
  await world.sw.idle()
  await play.act?.(world, goalId)
  await world.sw.idle()
  const log = piecesOf(await Array.fromAsync(world.sw.runelog.records(sessionId)))
  expect(log.some(({ header }) => header.guards?.some(({ guard }) => guard === play.guard))).toBe(true)

  const { take } = createVerifier(sessionId, { ...verifierPorts, readAgain: readGuardsAgain })
  // Hashed again by someone who has no key.
  const bad = rehashed(changed(log, play)).map(take).find(Boolean)
  expect(bad?.problem).toMatch(new RegExp(`^its guard ${play.guard} did not hold`))
})
