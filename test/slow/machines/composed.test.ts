import { describe, expect, test } from 'vitest'
import { stateNames } from '../../../src/kernel/machine.ts'
import { contractMachine } from '../../../src/machines/contract.ts'
import { couplings } from '../../../src/machines/couplings.ts'
import { toolMachine } from '../../../src/machines/tool.ts'
import type { System } from '../../model/append.ts'
import { toolFitsContract } from '../../model/correspondence.ts'
import { type Exploration, explore } from '../../model/explore.ts'
import { asDeclared, settings, withoutCoupling, withoutEdge } from '../../model/system.ts'
import type { Setting } from '../../model/world.ts'

const proof = process.env.STATEWRIGHT_PROOF === '1'

/** One call at a time, with a fault, and one action asked for twice: small, and it takes every row. */
const small: Setting[] = [
  ...settings({ calls: 1, rounds: 1, faults: 1 }),
  { mode: 'interactive', strict: false, calls: ['pay', 'pay_again'], rounds: 1, faults: 1 },
]
const deep: Setting[] = [
  { mode: 'interactive', strict: false, calls: ['pay'], rounds: 3, faults: 2 },
  { mode: 'interactive', strict: false, calls: ['read', 'pay', 'form'], rounds: 1, faults: 1 },
  { mode: 'auto', strict: false, calls: ['read', 'pay', 'pay_approved'], rounds: 1, faults: 1 },
]
/** Three calls at once with two faults are beyond what one process can hold in its memory. */
const large: Setting[] = proof
  ? [...deep, ...settings({ calls: 3, rounds: 1, faults: 1 }), ...settings({ calls: 1, rounds: 2, faults: 2 })]
  : deep

/** Plans have moves of their own and their own tests; their questions come from no call. */
const beside = /^frame ((plan|outside|goal|task|review|condition)_|session_readied$)/

describe('composed machines: the system', () => {
  const results: Exploration[] = []
  const sum = (of: (e: Exploration) => number) => results.reduce((n, e) => n + of(e), 0)

  test('has no reachable illegal combination, no dead end, and starts an irreversible key once', {
    timeout: 3_600_000,
  }, () => {
    for (const setting of [...small, ...large]) {
      const found = explore(asDeclared, setting)
      expect(found.problems, JSON.stringify(setting)).toEqual([])
      results.push(found)
    }
    console.log(
      `composed system: ${results.length} settings, ${sum((e) => e.states)} states, ${sum((e) => e.moves)} moves, 0 problems`,
    )
    expect(sum((e) => e.states)).toBeGreaterThan(150_000)
  })

  test('takes every coupling except earlier openings and the machines that are independent of runs', () => {
    const used = usedBy(results)
    const rows = [
      ...Object.keys(couplings.frames).map((name) => `frame ${name}`),
      ...Object.keys(couplings.threads).map((name) => `thread ${name}`),
    ].filter((row) => !beside.test(row))
    expect(rows.filter((row) => !used.has(row))).toEqual([
      'frame session_created',
      'frame agent_spawned',
      'frame agent_unfit',
      'frame first_message',
      'frame message',
    ])
  })

  test('reaches exactly the pairs of tool state and contract status that correspond', () => {
    const reached = new Set(results.flatMap((e) => [...e.pairs]))
    const reasons = ['approval', 'ecs', 'outcome_unknown'] as const
    const fitting = stateNames(toolMachine).flatMap((tool) =>
      [...stateNames(contractMachine), null].flatMap((status) =>
        status === 'waiting'
          ? reasons.filter((r) => toolFitsContract(tool, status, r)).map((r) => `${tool} ${status} ${r}`)
          : toolFitsContract(tool, status)
            ? [`${tool} ${status} null`]
            : [],
      ),
    )
    expect([...reached].sort()).toEqual(fitting.sort())
  })
})

describe('composed machines: a planted mutation is noticed:', { timeout: 3_600_000 }, () => {
  const explored = small.map((setting) => ({ setting, ...explore(asDeclared, setting) }))
  explored.sort((a, b) => a.states - b.states)
  const used = [...usedBy(explored)]
  /** Looked for where what is missing was taken, beginning with the smallest: elsewhere nothing has changed. */
  function problemsOf(system: System, missing?: string): readonly string[] {
    for (const { setting, used: taken } of explored) {
      if (missing !== undefined && !taken.has(missing)) continue
      const { problems } = explore(system, setting)
      if (problems.length > 0) return problems
    }
    return []
  }
  // A carried move that changes nothing cannot be missed here; the equality with the specification holds it.
  const edges = used.filter((what) => /^edge/.test(what) && !/active → active/.test(what))
  const rows = used.filter((what) => !what.startsWith('edge'))

  test(`each of the ${edges.length} edges it takes, removed`, () => {
    for (const edge of edges) expect(problemsOf(withoutEdge(edge), edge), edge).not.toEqual([])
  })

  test(`each of the ${rows.length} couplings it takes, dropped`, () => {
    for (const row of rows) expect(problemsOf(withoutCoupling(row), row), row).not.toEqual([])
  })

  test.each(['session_is_active', 'deadline_applies', 'mode_is_interactive'])('guard %s, ignored', (guard) => {
    expect(problemsOf({ ...asDeclared, ignored: new Set([guard]) })).not.toEqual([])
  })

  test.each([
    ['effect_without_lease', /recorded as not done, but it happened/],
    ['effect_before_record', /acted before the record/],
    ['key_not_claimed', /started 2 times/],
    ['retry_after_crash', /started 2 times/],
  ] as const)('habit %s', (habit, finding) => {
    expect(problemsOf({ ...asDeclared, habit }).join('\n')).toMatch(finding)
  })
})

function usedBy(explorations: readonly Exploration[]): ReadonlySet<string> {
  return new Set(explorations.flatMap((e) => [...e.used]))
}
