import fc from 'fast-check'
import { expect, test } from 'vitest'
import { foldSession, newSessionState } from '../../../../src/observation/fold-session.ts'
import { fromParts, toParts } from '../../../../src/observation/session-parts.ts'
import type { Rune } from '../../../../src/runes/rune.ts'
import { agent } from '../../../../src/runtime/define-agent.ts'
import { breakOff, call, type Scripted, say } from '../../../../src/runtime/scripted-model.ts'
import { look, playsTasks } from '../../../scenarios/goal-cast.ts'
import { form } from '../../../scenarios/props.ts'
import { auditRunes } from '../../../support/audit-runes.ts'
import { goalContent, registryIn } from '../../../support/goal-registry.ts'
import { isProof, seed } from '../../../support/sampling.ts'
import { scratchFolder } from '../../../support/scratch-folder.ts'
import { createWorld } from '../../../support/world.ts'

const scratch = scratchFolder('random-goals')
/** The small registry, with two agents and one phase in which everything may run side by side. */
const registry = registryIn(scratch.fresh(), goalContent)

type Mishap = 'none' | 'fails_once' | 'fails' | 'asks' | 'is_cancelled'

const task = fc.record({
  before: fc.array(fc.nat(), { maxLength: 2 }),
  owner: fc.constantFrom('worker', 'builder'),
  priority: fc.constantFrom('critical', 'high', 'medium', 'low'),
  calls: fc.boolean(),
  mishap: fc.constantFrom<Mishap>('none', 'none', 'fails_once', 'fails', 'asks', 'asks', 'asks', 'is_cancelled'),
  stands_in: fc.nat({ max: 9 }),
})

const goal = fc.record({
  tasks: fc.array(task, { minLength: 1, maxLength: 40, size: 'max' }),
  max_parallel: fc.integer({ min: 1, max: 5 }),
  has_mishaps: fc.boolean(),
  iterations: fc.integer({ min: 1, max: 3 }),
  tool_calls: fc.oneof({ arbitrary: fc.constant(undefined), weight: 3 }, { arbitrary: fc.nat({ max: 30 }), weight: 1 }),
  tokens: fc.oneof({ arbitrary: fc.constant(undefined), weight: 4 }, { arbitrary: fc.nat({ max: 60 }), weight: 1 }),
  cancelled_after: fc.oneof(
    { arbitrary: fc.constant(undefined), weight: 5 },
    { arbitrary: fc.nat({ max: 60 }), weight: 1 },
  ),
})

type Goal = typeof goal extends fc.Arbitrary<infer G> ? G : never

/** A plan without circles: every task depends on earlier ones only, and some stand in for an earlier one. */
function planFor({ tasks, has_mishaps }: Goal) {
  const replaced = new Set<number>()
  return tasks.map(({ before, owner, priority, calls, stands_in }, i) => {
    const id = `task_${i}`
    const depends_on = i === 0 ? [] : [...new Set(before.map((n) => `task_${n % i}`))]
    const primary = i - 1
    const isStandIn = has_mishaps && stands_in === 0 && primary >= 0 && !replaced.has(primary)
    if (isStandIn) replaced.add(primary)
    const instead = isStandIn
      ? { instead_of: `task_${primary}`, depends_on: depends_on.filter((d) => d !== `task_${primary}`) }
      : {}
    return {
      id,
      command: calls ? 'cmd_look' : 'cmd_note',
      intent: `Do ${id}.`,
      owner,
      priority,
      depends_on,
      ...instead,
    }
  })
}

async function play(given: Goal) {
  const failures = new Map<string, number>()
  const parts = Object.fromEntries(
    given.tasks.map(({ mishap, calls }, i) => {
      const id = `task_${i}`
      const script = (): readonly Scripted[] => {
        const work = calls ? [call('shop.look', { i }), say(`${id} is done`)] : [say(`${id} is done`)]
        if (!given.has_mishaps || mishap === 'none') return work
        const failed = failures.get(id) ?? 0
        if (mishap === 'fails' || (mishap === 'fails_once' && failed === 0)) {
          failures.set(id, failed + 1)
          return [breakOff('no', { retryable: false })]
        }
        return mishap === 'asks' || mishap === 'is_cancelled' ? [form, ...work] : work
      }
      return [id, script] as const
    }),
  )
  const someone = agent({ role: 'worker', model: playsTasks(parts), tools: [look] })
  const world = await createWorld({
    agents: { worker: someone, builder: someone },
    plans: { registry },
    policy: { mode: 'full_access' },
    settings: { errorThreshold: 10_000 },
  })
  const { sw } = world
  const { goalId, sessionId } = await sw.goals.start({
    goal: 'Whatever comes',
    auto: true,
    plan: { tasks: planFor(given) } as never,
    maxParallel: given.max_parallel,
    budget: {
      iterations: given.iterations,
      ...(given.tool_calls === undefined ? {} : { toolCalls: given.tool_calls }),
      ...(given.tokens === undefined ? {} : { tokens: given.tokens }),
    },
  })
  if (given.has_mishaps && given.cancelled_after !== undefined) {
    const runes = given.cancelled_after + 20
    await Promise.race([world.until(sessionId, (r) => r.event_id > runes), sw.idle()])
    await sw.goals.cancel(goalId)
  }
  // People answer what they are asked, all of it at once, and now and then cancel the run that asks.
  for (;;) {
    await sw.idle()
    const { waits_for, tasks } = await sw.goals.show(goalId)
    if (waits_for.length === 0) break
    await Promise.all(
      waits_for.map(({ interaction_id, run_id, task_id }) => {
        const key = tasks.find((one) => one.task_id === task_id)?.task ?? ''
        const { mishap } = given.tasks[Number(key.slice(5))] ?? {}
        if (mishap === 'is_cancelled') return sw.runs.cancel(run_id ?? '', 'not this one')
        return sw.inbox.reply(interaction_id, { reply: { action: 'approve', data: { choice: 'red' } } })
      }),
    )
  }
  const report = await sw.goals.show(goalId)
  const runes = await world.runes(sessionId)
  await world.end()
  return { report, runes, warnings: world.warnings }
}

/** The mistakes in the log: judged from the runes alone, by other code than the scheduler's. */
function problemsIn(runes: readonly Rune[], { max_parallel, tool_calls }: Goal): readonly string[] {
  const problems: string[] = []
  const planned = new Map<string, { depends_on: string[]; instead_of: string | null }>()
  const states = new Map<string, string>()
  const running = new Set<string>()
  const works = new Set<string>()
  /** A stand-in is not needed if its task completed, or is itself a stand-in that was not needed. */
  const isNotNeeded = (id: string): boolean => {
    const primary = planned.get(id)?.instead_of
    return (
      states.get(id) === 'skipped' && primary != null && (states.get(primary) === 'completed' || isNotNeeded(primary))
    )
  }
  const met = (id: string): boolean => {
    if (states.get(id) === 'completed' || isNotNeeded(id)) return true
    const over = ['failed', 'skipped'].includes(states.get(id) ?? '')
    return over && [...planned].some(([other, { instead_of }]) => instead_of === id && met(other))
  }
  let calls = 0
  for (const rune of runes) {
    if (rune.kind === 'task.opened') planned.set(rune.task_id ?? '', rune.payload.task as never)
    if (rune.kind === 'plan.task_assigned')
      for (const id of planned.get(rune.task_id ?? '')?.depends_on ?? [])
        if (!met(id)) problems.push(`${rune.task_id} was assigned before ${id}, which is ${states.get(id)}`)
    if (rune.machine === 'task') states.set(rune.subject_id ?? '', rune.to ?? '')
    if (rune.kind === 'run.submitted' && rune.task_id !== undefined) works.add(rune.run_id ?? '')
    if (rune.kind === 'run.moved' && works.has(rune.run_id ?? '')) {
      if (rune.to === 'running') running.add(rune.run_id ?? '')
      else running.delete(rune.run_id ?? '')
      if (running.size > max_parallel) problems.push(`${running.size} tasks at once at ${rune.event_id}`)
    }
    if (rune.kind === 'tool.call') calls += 1
  }
  const open = [...states].filter(([, state]) => !['completed', 'failed', 'skipped', 'cancelled'].includes(state))
  if (open.length > 0) problems.push(`left open: ${open.map(([id, state]) => `${id} ${state}`).join(', ')}`)
  if (tool_calls !== undefined && calls > tool_calls) problems.push(`${calls} calls of ${tool_calls}`)
  return [...problems, ...auditRunes(runes)]
}

function folded(runes: readonly Rune[]) {
  const state = newSessionState(runes[0]?.session_id ?? '')
  for (const rune of runes) foldSession(state, rune)
  return state
}

/** The goals of the session as they come back from a checkpoint of it. */
function throughCheckpoint(runes: readonly Rune[]) {
  const parts = toParts(folded(runes), new Set(), runes.at(-1)?.hash ?? '')
  const values = new Map([...parts].map(([name, text]) => [name, text.split('\n').map((line) => JSON.parse(line))]))
  return fromParts(runes[0]?.session_id ?? '', values)?.state.goals
}

test('random graphs: with random failures every goal ends, in order and within its limits', async () => {
  let met = 0
  let stopped = 0
  await fc.assert(
    fc.asyncProperty(goal, async (given) => {
      const { report, runes, warnings } = await play(given)
      expect(warnings).toEqual([])
      expect(problemsIn(runes, given)).toEqual([])
      expect(['goal_met', 'stopped']).toContain(report.state)
      if (report.state === 'goal_met') met += 1
      else stopped += 1
      // Nothing begins once they are used up; answers under way then, one for each place, still count. An answer has 2
      // tokens; one that is cut has an estimate, which is 3 for its 14 characters.
      if (given.tokens !== undefined) expect(report.used.tokens).toBeLessThan(given.tokens + 3 * given.max_parallel)
      expect(throughCheckpoint(runes)).toEqual(folded(runes).goals)
      const needed = given.tasks.filter(({ calls }) => calls).length
      const suffices = (given.tool_calls ?? needed) >= needed && given.tokens === undefined
      if (!given.has_mishaps && suffices) expect(report.state, report.reason ?? '').toBe('goal_met')
    }),
    { numRuns: isProof ? 400 : 40, seed, endOnFailure: !isProof },
  )
  console.log(`random goals with seed ${seed}: ${met} met, ${stopped} stopped`)
  expect(Math.min(met, stopped)).toBeGreaterThan(0)
})
