import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { topology } from '../../src/kernel/topology.ts'
import { transition } from '../../src/kernel/transition.ts'
import { type ContractStatus, type ContractTrigger, contractMachine } from '../../src/machines/contract.ts'
import {
  type ContractHistory,
  consequenceView,
  contractHistories,
  snapshot,
  transitionRecords,
} from '../../src/observation/contract.ts'
import { executionStateEvent } from '../../src/observation/session-event.ts'
import { actors, type Draft } from '../../src/runes/rune.ts'
import { factOf } from '../support/fact-of.ts'
import { frozen } from '../support/frozen.ts'
import { createStory } from '../support/runes.ts'

const runs = process.env.STATEWRIGHT_PROOF === '1' ? 20_000 : 500

function refundStory() {
  const story = createStory()
  story.begin()
  story.submit('Refund order 42')
  story.take()
  const [refund] = story.calls([{ name: 'payments.refund', irreversible: true, arguments: { order: 42 } }])
  if (refund === undefined) throw new Error('no call was made')
  const history = () => contractHistories(story.runes).get(refund.execution_id) as ContractHistory
  return { story, refund, history }
}

describe('contract: snapshot', () => {
  test('a pending contract is neither terminal, stable nor resumable, and has made no move', () => {
    const { history } = refundStory()
    expect(snapshot(history(), 1_700_000_000_040)).toMatchObject({
      execution_id: 'exe_1',
      action_summary: 'payments.refund',
      current_status: 'pending',
      is_terminal: false,
      is_stable: false,
      is_resumable: false,
      transition_count: 0,
      last_actor: null,
      last_trigger: null,
      idempotency_key: 'key of payments.refund',
      created_at: 1_700_000_000_040,
      entered_at: 1_700_000_000_040,
      duration_in_state_ms: 0,
    })
  })

  test('a waiting irreversible contract is stable and resumable, may have side effects, and says since when', () => {
    const { story, refund, history } = refundStory()
    story.park({ row: 'approval_asked', call: refund })
    expect(snapshot(history(), story.now() + 5_000)).toMatchObject({
      current_status: 'waiting',
      is_stable: true,
      is_resumable: true,
      has_side_effects: true,
      duration_in_state_ms: 5_000,
      last_trigger: 'suspend',
      last_actor: 'tool_node',
    })
  })

  test('F-25 snapshot: it names why a contract waits and the question that was asked last', () => {
    const { story, refund, history } = refundStory()
    expect(snapshot(history(), 0)).toMatchObject({ waiting_reason: null, interaction_id: null, error_kind: null })
    story.park({ row: 'approval_asked', call: refund, says: { 'contract.suspend': { reason: 'approval' } } })
    expect(snapshot(history(), 0)).toMatchObject({ waiting_reason: 'approval', interaction_id: 'int_1' })
    // The approval is void and asked for once more: the contract has not moved.
    const again = story.runes.find((rune) => rune.kind === 'interaction.opened') as Draft<'interaction.opened'>
    const asked: ContractHistory = [...history(), { ...again, interaction_id: 'int_2' }]
    expect(snapshot(asked, 0)).toMatchObject({
      current_status: 'waiting',
      transition_count: 2,
      waiting_reason: 'approval',
      interaction_id: 'int_2',
    })
  })

  test('a completed contract is terminal and stable and holds its result', () => {
    const { story, refund, history } = refundStory()
    story.append({ row: 'started', call: refund })
    story.append({ row: 'succeeded', call: refund, says: { 'contract.succeed': { result: { refunded: 4200 } } } })
    expect(snapshot(history(), story.now())).toMatchObject({
      is_terminal: true,
      is_stable: true,
      is_resumable: false,
      result: { refunded: 4200 },
      transition_count: 2,
    })
  })

  test('a clock that was set back makes no negative duration', () => {
    const { history } = refundStory()
    expect(snapshot(history(), 0).duration_in_state_ms).toBe(0)
  })
})

describe('contract: consequence view', () => {
  test('a success that a person approved shows its side effects and that it was suspended', () => {
    const { story, refund, history } = refundStory()
    story.park({ row: 'approval_asked', call: refund })
    story.append({ row: 'answered', call: refund }, { row: 'replied' })
    story.take()
    story.append({ row: 'approved', call: refund })
    story.append({ row: 'succeeded', call: refund })
    expect(consequenceView(history())).toEqual({
      execution_id: 'exe_1',
      action_type: 'tool_call',
      action_summary: 'payments.refund',
      consequence_label: 'SUCCESS',
      result: 'done',
      error_message: null,
      has_side_effects: true,
      was_suspended: true,
      decided_by: null,
      is_still_pending: false,
      total_duration_ms: 50,
    })
  })

  test('a failure that never waited has its error and is not suspended', () => {
    const { story, refund, history } = refundStory()
    story.append({ row: 'started', call: refund })
    story.append({ row: 'failed', call: refund })
    expect(consequenceView(history())).toMatchObject({
      consequence_label: 'FAILED',
      was_suspended: false,
      is_still_pending: false,
      has_side_effects: false,
      error_message: 'broken',
    })
  })

  test('a waiting contract has had no side effects yet', () => {
    const { story, refund, history } = refundStory()
    story.park({ row: 'approval_asked', call: refund })
    expect(consequenceView(history())).toMatchObject({
      consequence_label: 'WAITING',
      is_still_pending: true,
      has_side_effects: false,
      total_duration_ms: null,
    })
  })

  test('waiting because the outcome is unknown is UNKNOWN, and no longer so once it is resumed', () => {
    const { story, refund, history } = refundStory()
    story.append({ row: 'started', call: refund })
    story.park({ row: 'unknown_asked', call: refund })
    expect(consequenceView(history()).consequence_label).toBe('UNKNOWN')
    story.append({ row: 'answered', call: refund }, { row: 'replied' })
    story.take()
    story.append({ row: 'settled_did_not', call: refund })
    expect(consequenceView(history())).toMatchObject({ consequence_label: 'FAILED', was_suspended: true })
  })
})

test('contract: only a waiting contract has an unknown outcome, even if its last rune gives another reason', () => {
  const { opened, moves } = walked(true, [])
  const failed = { ...opened, kind: 'contract.moved', from: 'running', to: 'failed', trigger: 'fail' }
  const history = [opened, ...moves, { ...failed, payload: { reason: 'outcome_unknown' } }]
  expect(consequenceView(history as unknown as ContractHistory).consequence_label).toBe('FAILED')
})

test('contract: transition records number the moves from 0, in order, and name the actor', () => {
  const { story, refund, history } = refundStory()
  story.park({ row: 'approval_asked', call: refund })
  story.append({ row: 'answered', call: refund }, { row: 'replied' })
  story.take()
  story.append({ row: 'approved', call: refund })
  story.append({ row: 'succeeded', call: refund })
  const records = transitionRecords(history())
  expect(records.map((r) => [r.sequence_number, r.from_status, r.to_status, r.trigger, r.actor_category])).toEqual([
    [0, 'pending', 'running', 'start', 'tool'],
    [1, 'running', 'waiting', 'suspend', 'tool'],
    [2, 'waiting', 'running', 'resume', 'system'],
    [3, 'running', 'completed', 'succeed', 'tool'],
  ])
  expect(records.map((r) => r.is_terminal_transition)).toEqual([false, false, false, true])
  expect(records.map((r) => r.timestamp)).toEqual(records.map((r) => r.timestamp).toSorted((a, b) => a - b))
})

describe('contract: execution fact', () => {
  const long = 'x'.repeat(199) + '😀'.repeat(50)

  test('a success is remembered with the beginning of its result, never with half a character', () => {
    const { story, refund, history } = refundStory()
    story.append({ row: 'started', call: refund })
    expect(factOf(history())).toBeUndefined()
    story.append({ row: 'succeeded', call: refund, says: { 'contract.succeed': { result: long } } })
    expect(factOf(history())).toEqual({
      type: 'execution_fact',
      execution_id: 'exe_1',
      action_type: 'tool_call',
      action_summary: 'payments.refund',
      final_status: 'completed',
      irreversible: true,
      duration_ms: 20,
      result_summary: 'x'.repeat(199),
      error_summary: null,
    })
  })

  test('a failure is remembered with the beginning of its error and nothing of its moves', () => {
    const { story, refund, history } = refundStory()
    story.append({ row: 'started', call: refund })
    story.append({ row: 'failed', call: refund, says: { 'contract.fail': { error_message: 'y'.repeat(500) } } })
    const fact = factOf(history())
    expect(fact).toMatchObject({ final_status: 'failed', error_summary: 'y'.repeat(200), result_summary: null })
    expect(JSON.stringify(fact)).not.toContain('start')
  })

  test('INV-MEMORY-PRIVACY: a contract with a secret rune is not remembered', () => {
    const { story, refund, history } = refundStory()
    story.append({ row: 'started', call: refund })
    story.append({ row: 'succeeded', call: refund })
    const runes = history()
    for (const [i] of runes.entries()) {
      const told = runes.map((rune, j) => (i === j ? { ...rune, visibility: 'secret' } : rune))
      expect(factOf(told as unknown as ContractHistory)).toBeUndefined()
    }
    expect(factOf(runes)).toBeDefined()
  })
})

test('contract: over random legal walks, every view agrees with the declaration', () => {
  const nodes = new Map(topology(contractMachine).nodes.map((node) => [node.status, node]))
  const labels = { pending: 'NOT_STARTED', running: 'IN_PROGRESS', waiting: 'WAITING', completed: 'SUCCESS' }
  const walk = fc.record({
    irreversible: fc.boolean(),
    steps: fc.array(fc.record({ die: fc.nat(), pause: fc.nat(10_000), actor: fc.constantFrom(...actors) })),
  })
  fc.assert(
    fc.property(walk, ({ irreversible, steps }) => {
      const { opened, moves } = walked(irreversible, steps)
      const history = frozen([opened, ...moves] as const) as ContractHistory
      const now = (moves.at(-1) ?? opened).at + 7
      const view = snapshot(history, now)
      const status = (moves.at(-1)?.to ?? 'pending') as ContractStatus

      expect(nodes.get(view.current_status)).toMatchObject({
        status,
        is_terminal: view.is_terminal,
        is_stable: view.is_stable,
        is_resumable: view.is_resumable,
      })
      expect(view).toMatchObject({ duration_in_state_ms: 7, transition_count: moves.length, irreversible })

      const consequence = consequenceView(history)
      expect(consequence.consequence_label).toBe(labels[status as keyof typeof labels] ?? status.toUpperCase())
      expect(consequence.has_side_effects).toBe(irreversible && status === 'completed')
      expect(consequence.was_suspended).toBe(moves.some((move) => move.to === 'waiting'))
      expect(consequence.is_still_pending).toBe(!view.is_terminal)
      expect(consequence.total_duration_ms === null).toBe(consequence.is_still_pending)

      const records = transitionRecords(history)
      expect(records.map((r) => r.to_status)).toEqual(moves.map((move) => move.to))
      expect(factOf(history)?.final_status).toBe(view.is_terminal ? status : undefined)
      for (const move of moves) {
        const node = nodes.get(move.to ?? '')
        const { is_terminal, is_resumable, has_side_effects } = executionStateEvent(opened, move)
        expect({ is_terminal, is_resumable }).toEqual({
          is_terminal: node?.is_terminal,
          is_resumable: node?.is_resumable,
        })
        expect(has_side_effects).toBe(irreversible && move.to === 'completed')
      }
    }),
    { numRuns: runs },
  )
})

interface Step {
  readonly die: number
  readonly pause: number
  readonly actor: (typeof actors)[number]
}

function walked(irreversible: boolean, steps: readonly Step[]) {
  const opened = {
    kind: 'contract.opened',
    execution_id: 'exe_1',
    at: 1_000,
    actor: 'reasoning',
    payload: {
      action_type: 'tool_call',
      action_detail: {},
      action_summary: 'mail.send',
      irreversible,
      idempotency_key: null,
      key_scope: 'session',
      timeout_ms: null,
    },
  } satisfies Draft<'contract.opened'>
  const moves: Draft<'contract.moved'>[] = []
  let at = opened.at
  let status: ContractStatus = contractMachine.initial
  for (const { die, pause, actor } of steps) {
    const legal = contractMachine.transitions.filter((t) => t.from === status)
    const on = legal[die % legal.length]?.on as ContractTrigger | undefined
    const decision = on === undefined ? undefined : transition(contractMachine, status, on)
    if (decision === undefined || !decision.allowed) break
    at += pause
    const { from, to } = decision
    moves.push({
      kind: 'contract.moved',
      execution_id: 'exe_1',
      at,
      actor,
      from,
      to,
      trigger: on as string,
      payload: {},
    })
    status = to
  }
  return { opened, moves }
}

test('contract: an execution_state event shows the effect of its own move, not of later ones', () => {
  const { story, refund } = refundStory()
  story.append({ row: 'started', call: refund })
  story.append({ row: 'succeeded', call: refund })
  const opened = story.runes.find((rune) => rune.kind === 'contract.opened') as Draft<'contract.opened'>
  const moves = story.runes.filter((rune) => rune.kind === 'contract.moved') as Draft<'contract.moved'>[]
  expect(moves.map((move) => executionStateEvent(opened, move))).toEqual([
    expect.objectContaining({ to_status: 'running', is_terminal: false, has_side_effects: false }),
    {
      execution_id: 'exe_1',
      action_summary: 'payments.refund',
      from_status: 'running',
      to_status: 'completed',
      trigger: 'succeed',
      actor_category: 'tool',
      is_terminal: true,
      is_resumable: false,
      has_side_effects: true,
      timestamp: story.now(),
      waiting_reason: null,
      error_kind: null,
      interaction_id: null,
    },
  ])
})
