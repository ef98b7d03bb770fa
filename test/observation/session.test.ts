import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Machine } from '../../src/kernel/machine.ts'
import { audit, restingState } from '../../src/kernel/transition.ts'
import { machines } from '../../src/machines/all.ts'
import { durations } from '../../src/observation/durations.ts'
import { foldSession, newSessionState } from '../../src/observation/fold-session.ts'
import { executionTimeline, executionTrace, graphState, positionOf } from '../../src/observation/graph-state.ts'
import { type SubjectMove, subjectMoves } from '../../src/observation/subject-moves.ts'
import { anyDice, randomRun } from '../support/random-run.ts'
import { type Call, type CallSpec, createStory } from '../support/runes.ts'
import { stateAt } from '../support/state-at.ts'

const runs = process.env.STATEWRIGHT_PROOF === '1' ? 10_000 : 300
const anyRun = anyDice.map((dice) => randomRun(dice))
const byName = new Map<string, Machine>(machines.map((machine) => [machine.name, machine]))

const refund: CallSpec = { name: 'payments.refund', irreversible: true }
const form: CallSpec = { kind: 'step', name: 'ask_human' }

/** A refund that is done, and a form that is being asked for. */
function halfDone() {
  const story = createStory()
  story.begin()
  story.submit('Refund order 42')
  story.take('Refund order 42')
  const [paid, asked] = story.calls([refund, form]) as [Call, Call]
  story.append({ row: 'started', call: paid })
  story.append({ row: 'succeeded', call: paid })
  story.park({ row: 'step_asked', call: asked })
  return { story, paid, asked }
}

test('session: the trace holds every opening and every move of contracts, with its actor', () => {
  const { story } = halfDone()
  expect(executionTrace(story.runes).map((step) => [step.node_id, step.action, step.result])).toEqual([
    ['reasoning', 'create_contract:exe_1', null],
    ['reasoning', 'create_contract:exe_2', null],
    ['tool_node', 'transition:exe_1:pending→running', null],
    ['tool_node', 'transition:exe_1:running→completed', 'done'],
    ['ecs_node', 'transition:exe_2:pending→running', null],
    ['ecs_node', 'transition:exe_2:running→waiting', null],
  ])
  expect(executionTrace(story.runes)[3]?.metadata).toEqual({
    trigger: 'succeed',
    actor: 'tool_node',
    contract_id: 'exe_1',
    irreversible: true,
    waiting_reason: null,
    error_kind: null,
    interaction_id: null,
  })
})

describe('session: graph state', () => {
  test('of a suspended run, ended and waiting contracts are completed, and the waiting one is expected', () => {
    const { story } = halfDone()
    const graph = graphState(story.runes)
    expect(graph).toMatchObject({ session_id: 'ses_1', event_id: story.runes.length, status: 'suspended' })
    expect(graph.pending_executions).toEqual([])
    expect(graph.completed_executions.map((e) => e.current_status)).toEqual(['completed', 'waiting'])
    expect(graph.completed_executions.map((e) => e.duration_in_state_ms)).toEqual([10, 0])
    expect(graph.expected_waiting).toEqual(['exe_2'])
    expect(graph.dialogue.map((message) => message.role)).toEqual(['user', 'assistant', 'tool'])
    expect(graph.execution_trace).toEqual(executionTrace(story.runes))
  })

  test('with atEventId it is the state after that event', () => {
    const { story } = halfDone()
    const opened = story.runes.findLast((rune) => rune.kind === 'contract.opened')?.event_id as number
    const graph = graphState(story.runes, { atEventId: opened })
    expect(graph).toMatchObject({ event_id: opened, status: 'processing', completed_executions: [] })
    expect(graph.pending_executions.map((e) => e.current_status)).toEqual(['pending', 'pending'])
    expect(graphState(story.runes, { atEventId: 0 })).toMatchObject({ event_id: 0, status: 'idle', dialogue: [] })
  })

  test('it leaves out the contracts of other agents', () => {
    const { story } = halfDone()
    expect(graphState(story.runes, { agentId: 'agt_1' })).toEqual(graphState(story.runes))
    expect(graphState(story.runes, { agentId: 'agt_2' })).toMatchObject({
      status: 'idle',
      dialogue: [],
      completed_executions: [],
      execution_trace: [],
    })
  })

  test.each([
    ['succeeded', 'idle'],
    ['failed_in_stream', 'error'],
    ['canceled', 'idle'],
  ] as const)('after %s it is %s', (row, status) => {
    const story = createStory()
    story.begin()
    expect(graphState(story.runes).status).toBe('idle')
    story.submit()
    expect(graphState(story.runes).status).toBe('processing')
    story.take()
    story.append({ row })
    expect(graphState(story.runes).status).toBe(status)
    story.submit()
    expect(graphState(story.runes).status).toBe('processing')
  })

  test('INV-REPLAY-DETERMINISTIC: the state at a rune is the state of the log that ends there', () => {
    fc.assert(
      fc.property(anyRun, fc.nat(), (story, die) => {
        const at_event_id = die % (story.runes.length + 1)
        expect(graphState(story.runes, { atEventId: at_event_id })).toEqual(
          graphState(story.runes.slice(0, at_event_id)),
        )
      }),
      { numRuns: runs },
    )
  })

  test('F-20 graph: recovery finds in the folded session the same pending and waiting contracts as the graph of the runes', () => {
    fc.assert(
      fc.property(anyRun, (story) => {
        const state = newSessionState('ses_1')
        for (const [i, rune] of story.runes.entries()) {
          foldSession(state, rune)
          const graph = graphState(story.runes.slice(0, i + 1))
          const at = [...state.runs.keys()].map((run_id) => positionOf(state, run_id))
          const ids = (calls: readonly { execution_id: string | null }[]) => calls.map((call) => call.execution_id)
          expect(at.flatMap(({ pending }) => ids(pending))).toEqual(ids(graph.pending_executions))
          expect(at.flatMap(({ expected_waiting }) => ids(expected_waiting))).toEqual(graph.expected_waiting)
          if (at.length > 0) expect(at.map(({ status }) => status)).toEqual([graph.status])
        }
      }),
      { numRuns: runs / 10 },
    )
  })

  test('every contract is pending or completed, and never both', () => {
    fc.assert(
      fc.property(anyRun, (story) => {
        const { pending_executions, completed_executions, expected_waiting } = graphState(story.runes)
        const opened = story.runes.filter((rune) => rune.kind === 'contract.opened').map((rune) => rune.execution_id)
        const found = [...pending_executions, ...completed_executions].map((e) => e.execution_id)
        expect(found.toSorted()).toEqual(opened.toSorted())
        expect(expected_waiting).toEqual(opened.filter((id) => story.stateOf(id ?? '') === 'waiting'))
      }),
      { numRuns: runs },
    )
  })
})

describe('session: timeline', () => {
  test('a completed call and a waiting step, with all their moves by time', () => {
    const { story } = halfDone()
    const timeline = executionTimeline('ses_1', story.runes, story.now())
    expect(timeline).toMatchObject({
      session_id: 'ses_1',
      total_contracts: 2,
      terminal_contracts: 1,
      active_contracts: 1,
      has_suspended: true,
      has_irreversible_completed: true,
      started_at: 1_700_000_000_040,
      ended_at: null,
    })
    expect(timeline.contracts.map((c) => c.execution_id)).toEqual(['exe_1', 'exe_2'])
    expect(timeline.transitions.map((t) => `${t.execution_id} ${t.trigger}`)).toEqual([
      'exe_1 start',
      'exe_1 succeed',
      'exe_2 start',
      'exe_2 suspend',
    ])
  })

  test('it ends with the last move when every contract is over, and a session without contracts has none', () => {
    const { story, asked } = halfDone()
    story.append({ row: 'step_cancelled', call: asked }, { row: 'canceled' })
    expect(executionTimeline('ses_1', story.runes, story.now() + 99)).toMatchObject({
      active_contracts: 0,
      has_suspended: false,
      ended_at: story.now(),
    })
    expect(executionTimeline('ses_2', [], 0)).toMatchObject({ total_contracts: 0, started_at: null, ended_at: null })
  })
})

describe('session: subject moves', () => {
  test('a rune of a turn carries its agent, and the end of a turn takes the agent to idle', () => {
    const story = createStory()
    story.begin()
    story.submit()
    const before = story.runes.length
    story.take()
    const taken = story.runes.length
    story.append({ row: 'succeeded' })
    const states = (event_id?: number) => {
      const at = stateAt(story.runes, event_id)
      return ['agt_1', 'trn_1', 'run_1', 'ses_1'].map((id) => at.get(id)?.state)
    }
    expect(states(before)).toEqual(['idle', undefined, 'queued', 'active'])
    expect(states(taken)).toEqual(['running_turn', 'streaming', 'running', 'active'])
    expect(states()).toEqual(['idle', 'idle', 'succeeded', 'active'])
  })

  test('a move that leads back to where it began does not restart the time', () => {
    const { story } = halfDone()
    const since = story.now()
    story.later(60_000)
    story.append({ row: 'kept_waiting' })
    expect(stateAt(story.runes).get('run_1')).toMatchObject({ machine: 'run', state: 'waiting_user', since })
  })

  test('over random runs it agrees with the machines, move by move and at every rune', () => {
    fc.assert(
      fc.property(anyRun, (story) => {
        const bySubject = Map.groupBy(subjectMoves(story.runes), (move: SubjectMove) => move.subject_id)
        for (const moves of bySubject.values()) {
          const { machine: name } = moves[0] as SubjectMove
          const machine = byName.get(name) as Machine
          const made = moves.filter((move) => move.from !== null && move.trigger !== null) as {
            from: string
            to: string
            trigger: string
          }[]
          expect(audit(machine, made)).toEqual([])
          expect(restingState(machine, made.at(-1)?.to ?? machine.initial)).toBe(made.at(-1)?.to ?? machine.initial)
        }
        for (const [id, { state }] of stateAt(story.runes)) if (id !== 'ses_1') expect(state).toBe(story.stateOf(id))
      }),
      { numRuns: runs },
    )
  })
})

test('session: the times in each state add up to the whole life of a subject', () => {
  const { story } = halfDone()
  story.later(490)
  story.append({ row: 'kept_waiting' })
  story.later(500)
  expect(durations(story.runes, 'run_1', story.now())).toEqual([
    { state: 'queued', visits: 1, total_ms: 10 },
    { state: 'running', visits: 1, total_ms: 40 },
    { state: 'waiting_user', visits: 1, total_ms: 1_000 },
  ])
  fc.assert(
    fc.property(anyRun, fc.nat(100_000), (other, rest) => {
      const now = other.now() + rest
      const submitted = other.runes.find((rune) => rune.kind === 'run.submitted')?.at as number
      const total = durations(other.runes, 'run_1', now).reduce((sum, { total_ms }) => sum + total_ms, 0)
      expect(total).toBe(now - submitted)
    }),
    { numRuns: runs },
  )
})
