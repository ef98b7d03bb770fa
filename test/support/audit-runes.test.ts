import { expect, test } from 'vitest'
import type { Machine } from '../../src/kernel/machine.ts'
import { machineNamed } from '../../src/machines/all.ts'
import type { Rune } from '../../src/runes/rune.ts'
import { auditRunes, type RuneLike } from './audit-runes.ts'

const session_id = 's1'
const ids = { session_id, agent_id: 'a1', turn_id: 't1' }

function move(machine: string, subject_id: string, kind: string, steps: string, more: Partial<RuneLike> = {}) {
  const [from = '', trigger = '', to = ''] = steps.split(' ')
  const declared: Machine | undefined = machineNamed(machine)
  const edge = declared?.transitions.find((t) => t.from === from && t.on === trigger && t.to === to)
  const guards = edge?.when?.map((guard) => ({ guard, holds: true, because: 'It does.' }))
  return { ...ids, kind, machine, subject_id, from, trigger, to, ...(guards && { guards }), ...more }
}

const begin: readonly RuneLike[] = [
  { kind: 'session.created', session_id },
  { ...ids, kind: 'agent.spawning', machine: 'agent', subject_id: 'a1', from: null, to: 'spawning', trigger: null },
  move('agent', 'a1', 'agent.ready', 'spawning init_complete idle'),
  move('session', 's1', 'session.activated', 'created first_message active'),
  move('turn', 't1', 'turn.started', 'idle start_turn streaming'),
]
const call: RuneLike = { ...ids, kind: 'tool.call', call_id: 'c1' }
const tool = (kind: string, steps: string) => move('tool', 'c1', kind, steps, { call_id: 'c1' })
const asked = tool('tool.approval_requested', 'pending_call requires_approval awaiting_approval')
const approved = tool('tool.approved', 'awaiting_approval approved executing')
const succeeded = tool('tool.result', 'executing success completed_result')
const toolsBegin = move('turn', 't1', 'turn.tool_calls_received', 'streaming tool_calls_received tool_executing')
const toolsEnd = move('turn', 't1', 'turn.tools_finished', 'tool_executing tools_finished streaming')
const end = move('turn', 't1', 'turn.completed', 'streaming response_done completed')
const turn2 = move('turn', 't2', 'turn.started', 'idle start_turn streaming', { turn_id: 't2' })
const killed = move('agent', 'a1', 'agent.terminated', 'idle kill terminated')

const good = [...begin, toolsBegin, call, asked, approved, succeeded, toolsEnd, end, turn2]

test('audit runes: a rune of the runelog is something to audit', () => {
  const asItIs = (rune: Rune): RuneLike => rune
  expect(asItIs).toBeTypeOf('function')
})

test('audit runes: a legal log has no problems', () => {
  expect(auditRunes(good)).toEqual([])
})

test('audit runes: a denied call has its move and then its result, which is not a move', () => {
  const denied = tool('tool.denied', 'awaiting_approval denied denied')
  const result = { ...ids, kind: 'tool.result', call_id: 'c1' }
  expect(auditRunes([...begin, toolsBegin, call, asked, denied, result, toolsEnd, end])).toEqual([])
  expect(auditRunes([...begin, toolsBegin, call, asked, denied])).toEqual([
    'INV-TOOL-TERMINAL: call c1 is over and has no tool.result',
  ])
})

test('audit runes: a call may be open for as long as its turn is', () => {
  expect(auditRunes([...begin, toolsBegin, call, asked])).toEqual([])
})

test('audit runes: the runes of a turn carry the agent along', () => {
  expect(auditRunes([...begin, end, killed])).toEqual([])
  expect(auditRunes([...begin, killed])).toEqual(['agent a1: move 3 leaves idle, but the subject was running_turn'])
})

test('audit runes: a carried move does not happen to a subject that is elsewhere', () => {
  const paused = move('session', 's1', 'session.paused', 'active pause_requested paused')
  const resumed = move('session', 's1', 'session.resumed', 'paused resume_requested active')
  expect(auditRunes([...begin, paused, end, resumed])).toEqual([])
})

test('audit runes: sessions do not disturb each other', () => {
  const other = good.map((rune) => ({
    ...rune,
    session_id: 's2',
    ...(rune.subject_id === 's1' ? { subject_id: 's2' } : {}),
  }))
  expect(auditRunes(good.flatMap((rune, i) => [rune, other[i] as RuneLike]))).toEqual([])
})

test.each<[string, readonly RuneLike[], string]>([
  [
    'a move the machine does not have',
    [...begin, toolsBegin, call, tool('tool.denied', 'pending_call denied denied')],
    'has no pending_call → denied',
  ],
  ['a move from where the subject is not', [...begin, toolsBegin, call, approved], 'but the subject was pending_call'],
  ['a move of a subject that was not opened', begin.slice(3), 'no session.created opened it'],
  ['an opening that happens twice', [...begin, call, call], 'tool c1 was opened before'],
  [
    'an opening somewhere else than at the beginning',
    [...begin, { ...call, machine: 'tool', subject_id: 'c1', from: null, to: 'executing', trigger: null }],
    'tool c1 is opened in executing, not in pending_call',
  ],
  ['an opening of nothing', [{ kind: 'tool.call', session_id }], 'does not say which'],
  [
    'a move written as another kind of rune',
    [...begin, call, tool('tool.moved', 'pending_call requires_approval awaiting_approval')],
    'is recorded by tool.approval_requested',
  ],
  ['an unknown machine', [move('parrot', 'p1', 'parrot.moved', 'a b c')], 'there is no machine parrot'],
  ['half a move', [{ kind: 'tool.moved', session_id, trigger: 'success' }], 'not machine, subject_id, from and to'],
  [
    'a result without a call',
    [...begin, { ...ids, kind: 'tool.result', call_id: 'c9' }],
    'INV-TOOL-CALL-BEFORE-RESULT',
  ],
  [
    'two results of one call',
    [...good, { ...ids, kind: 'tool.result', call_id: 'c1' }],
    'INV-TOOL-TERMINAL: call c1 has more than one',
  ],
  ['a turn that ended without the result of its call', [...begin, toolsBegin, call, end], 'INV-TOOL-TERMINAL'],
  [
    'execution before approval',
    [...begin, toolsBegin, call, asked, tool('tool.moved', 'pending_call no_approval_needed executing')],
    'INV-TOOL-APPROVAL-BEFORE-EXEC',
  ],
  [
    'progress before approval',
    [...begin, toolsBegin, call, asked, { ...ids, kind: 'tool.progress', call_id: 'c1' }],
    'INV-TOOL-APPROVAL-BEFORE-EXEC',
  ],
  ['success before approval', [...begin, toolsBegin, call, asked, succeeded], 'INV-TOOL-APPROVAL-BEFORE-EXEC'],
  ['two turns of one agent at once', [...begin, turn2], 'INV-TURN-SEQUENTIAL'],
])('audit runes: %s is found', (_, runes, problem) => {
  expect(auditRunes(runes).join('\n')).toContain(problem)
})
