import { expect, test } from 'vitest'
import { hostPorts } from '../../../../src/adapters/host/ports.ts'
import { createStatewright } from '../../../../src/app/statewright.ts'
import { note, planOf, worker } from '../../../scenarios/goal-cast.ts'
import { auditRunes } from '../../../support/audit-runes.ts'
import { eventually } from '../../../support/eventually.ts'
import { registryIn } from '../../../support/goal-registry.ts'
import { emptyDatabase } from '../../../support/postgres.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'

const registry = registryIn(scratchFolder('shared-goals').fresh())

const tasks = Array.from({ length: 12 }, (_, i) => note(`task_${i}`, ...(i < 4 ? [] : [`task_${i - 4}`])))
const warnings: unknown[] = []

const openOn = (url: string) =>
  createStatewright({
    store: url,
    agents: { worker: worker() },
    plans: { registry },
    policy: { mode: 'full_access' },
    settings: { leaseMs: 30_000 },
    ports: { store: hostPorts },
    warn: (message, details) => warnings.push({ message, details }),
  })

test('goals shared: two processes drive the same goals at once, one leaves, and every task is given out once', async () => {
  const database = await emptyDatabase()
  const [first, second] = [await openOn(database.url), await openOn(database.url)]
  const set = await Promise.all(
    ['One', 'Two', 'Three'].map((goal) =>
      first.goals.start({ goal, auto: true, plan: planOf(...tasks), maxParallel: 3 }),
    ),
  )
  // WHEN the process that set the goals leaves in the middle
  await eventually('some tasks are done', async () => {
    const reports = await Promise.all(set.map(({ goalId }) => second.goals.show(goalId)))
    const done = reports.flatMap((report) => report.tasks.filter(({ state }) => state === 'completed'))
    return done.length >= 4 ? true : undefined
  })
  await first.close()
  // THEN the other one brings them to their end
  for (const { goalId, sessionId } of set) {
    const report = await eventually(`${goalId} is over`, async () => {
      const now = await second.goals.show(goalId)
      return now.ended_at === null ? undefined : now
    })
    expect(report.state).toBe('goal_met')
    const runes = await second.runelog.read(sessionId)
    expect(auditRunes(runes)).toEqual([])
    const assigned = runes.filter((rune) => rune.kind === 'plan.task_assigned').map((rune) => rune.task_id)
    expect(assigned).toHaveLength(12)
    expect(new Set(assigned).size).toBe(12)
    expect(runes.filter((rune) => rune.kind === 'plan.critique')).toHaveLength(1)
    expect(runes.filter((rune) => rune.kind === 'plan.created')).toHaveLength(1)
  }
  await second.close()
  await database.drop()
  expect(warnings).toEqual([])
})

test('goals shared: a process that leaves hands over the goals that it was brought', async () => {
  const database = await emptyDatabase()
  const [first, second] = [await openOn(database.url), await openOn(database.url)]
  // GIVEN goals of which the queue tells either process
  const set = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      first.goals.start({ goal: `Goal ${i}`, auto: true, plan: planOf(note('only')) }),
    ),
  )
  // WHEN the first leaves at once
  await first.close()
  // THEN the other brings all of them to their end
  for (const { goalId } of set)
    await eventually(`${goalId} is over`, async () => (await second.goals.show(goalId)).ended_at ?? undefined)
  await second.close()
  await database.drop()
})
