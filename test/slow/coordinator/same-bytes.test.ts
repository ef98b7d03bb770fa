import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { coordinate, coordinationOf } from '../../../src/coordinator/coordinate.ts'
import { advance, arrive, begin, isAtRest, step } from '../../../src/coordinator/engine.ts'
import { freeze } from '../../../src/coordinator/outputs/freeze.ts'
import { tapeMoves, verifyPlan } from '../../../src/coordinator/outputs/verify.ts'
import type { CoordinationInput, Progress } from '../../../src/coordinator/progress.ts'
import { canonicalJson, type Json } from '../../../src/kernel/json.ts'
import { audit } from '../../../src/kernel/transition.ts'
import { coordinationMachine } from '../../../src/machines/coordination.ts'
import { inputOf, intentOf, openQuestion, ports } from '../../support/coordinator.ts'
import { answersFor, anyInput, shuffled } from '../../support/intents.ts'
import { scenario } from '../../support/scenario.ts'

const exhaustive = process.env.STATEWRIGHT_PROOF === '1'
const numRuns = exhaustive ? 2000 : 40
const limit_ms = exhaustive ? 3_600_000 : 30_000
const seed = 20260125
const choices = fc.array(fc.nat(3), { minLength: 5, maxLength: 5 })
const bytes = (value: unknown) => canonicalJson(value as Json)

describe('Coordinator: same input, same bytes', () => {
  scenario(
    'CO-23',
    'The order of keys changes nothing, in files or on the tape',
    () => {
      // GIVEN any intent with any answers, once as it is and once with every object's members in another order
      fc.assert(
        fc.property(anyInput, choices, fc.nat(50), (input, picks, turn) => {
          const answers = answersFor(input, picks)
          const other = shuffled(input as unknown as Json, turn) as unknown as CoordinationInput
          const one = coordinate(input, answers, ports)
          const two = coordinate(other, shuffled(answers as unknown as Json, turn) as unknown as typeof answers, ports)
          // THEN both give the same bytes
          expect(bytes(two)).toBe(bytes(one))
          if (one.tape.is_closed) expect(freeze(two, other, ports)).toEqual(freeze(one, input, ports))
        }),
        { numRuns, seed },
      )
    },
    limit_ms,
  )

  scenario(
    'CO-23',
    'Whether answers were there from the start or came later changes nothing',
    () => {
      fc.assert(
        fc.property(anyInput, choices, (input, picks) => {
          // GIVEN all answers at once
          const answers = answersFor(input, picks)
          const atOnce = coordinate(input, answers, ports)
          // WHEN it is put down as text wherever it rests, taken up again, and each answer comes by itself
          let progress = advance(begin(input, ports), ports)
          for (const answer of answers) {
            progress = JSON.parse(canonicalJson(progress as unknown as Json)) as Progress
            progress = advance(arrive(progress, [answer], ports), ports)
          }
          // THEN the bytes are the same
          expect(bytes(coordinationOf(progress, ports))).toBe(bytes(atOnce))
        }),
        { numRuns, seed },
      )
    },
    limit_ms,
  )

  scenario('CO-23', 'A coordination can be suspended after every single step', () => {
    // GIVEN a coordination that asks, conflicts nowhere and ends
    const intent = intentOf((i) => ({ ...i, open_questions: [openQuestion('which_way')] }))
    const input = inputOf({ intent })
    const answers = answersFor(input, [1, 1])
    const whole = coordinate(input, answers, ports)
    // WHEN it is written down and read back after every step
    let progress = arrive(begin(input, ports), answers, ports)
    for (let i = 0; i < 50 && !isAtRest(progress); i++)
      progress = step(JSON.parse(JSON.stringify(progress)) as Progress, ports)
    // THEN nothing is lost
    expect(whole.state).toBe('DONE')
    expect(bytes(coordinationOf(progress, ports))).toBe(bytes(whole))
  })

  scenario('CO-23', 'Inputs are not changed, and nothing is executed', () => {
    // GIVEN an input that is frozen to its depths
    const input = deepFrozen(structuredClone(inputOf()))
    // THEN it can still be coordinated: every output is new
    expect(coordinate(input, [], ports).state).toBe('DONE')
  })
})

describe('Coordinator: random intents', () => {
  test('each ends or waits; the tape is legal; a failure has a guard that failed; a frozen plan verifies', {
    timeout: limit_ms,
  }, () => {
    const ends: Record<string, number> = {}
    fc.assert(
      fc.property(anyInput, choices, (input, picks) => {
        const result = coordinate(input, answersFor(input, picks), ports)
        const { tape, state, artifacts } = result
        ends[artifacts.failure_pack?.cause ?? state] = (ends[artifacts.failure_pack?.cause ?? state] ?? 0) + 1
        expect(audit(coordinationMachine, tapeMoves(tape))).toEqual([])
        if (state === 'BLOCKED' || state === 'ABORTED')
          expect(tape.entries.at(-1)?.guards_evaluated.some(({ passed }) => !passed)).toBe(true)
        if (tape.is_closed) expect(verifyPlan(freeze(result, input, ports), ports)).toEqual([])
        else expect(result.waits_for).not.toBeNull()
        // A plan holds no action that the rules did not let pass, and every one of them was judged.
        for (const node of artifacts.execution_graph?.nodes ?? []) {
          if (node.node_type !== 'action_proposal') continue
          const decision = artifacts.rule_decisions.at(-1)?.decisions.find(({ step_id }) => step_id === node.step_ref)
          expect(['allow', 'warn', 'require_review']).toContain(decision?.decision)
        }
      }),
      { numRuns: numRuns * 2, seed },
    )
    // The generator is worth something only if it reaches many ends.
    expect(Object.keys(ends).length).toBeGreaterThan(4)
    expect(ends.DONE).toBeGreaterThan(0)
  })
})

function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value)
    for (const member of Object.values(value)) deepFrozen(member)
  }
  return value
}
