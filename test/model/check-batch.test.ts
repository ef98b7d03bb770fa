import { describe, expect, test } from 'vitest'
import { type BatchMove, checkBatch } from '../../src/kernel/coupling.ts'
import { couplings, type MoveName } from '../../src/machines/couplings.ts'

/** `move('tool.success', 'c1')`: a move of call c1; without a call, a move around the calls. */
function move(name: MoveName, thread?: string): BatchMove {
  const dot = name.indexOf('.')
  return name.startsWith('+')
    ? { machine: name.slice(1), trigger: null, thread }
    : { machine: name.slice(0, dot), trigger: name.slice(dot + 1), thread }
}

describe('check batch: a sequence of rows passes', () => {
  test.each<[string, BatchMove[]]>([
    ['an empty one', []],
    ['a session with its root agent', [move('+session'), move('+agent'), move('agent.init_complete')]],
    ['the first message', [move('session.first_message'), move('+run')]],
    ['a later message', [move('+run')]],
    ['an agent that joins', [move('+agent'), move('agent.init_complete')]],
    ['an agent that cannot', [move('+agent'), move('agent.init_error')]],
    [
      'call and start share an append',
      [
        move('turn.tool_calls_received'),
        move('+tool', 'c1'),
        move('+contract', 'c1'),
        move('tool.no_approval_needed', 'c1'),
        move('contract.start', 'c1'),
      ],
    ],
    [
      'result and what follows share an append',
      [move('tool.success', 'c1'), move('contract.succeed', 'c1'), move('turn.tools_finished')],
    ],
    [
      'a call that cannot be dispatched fails at once',
      [
        move('turn.tool_calls_received'),
        move('+tool', 'c1'),
        move('+contract', 'c1'),
        move('tool.no_approval_needed', 'c1'),
        move('contract.start', 'c1'),
        move('tool.execution_error', 'c1'),
        move('contract.fail', 'c1'),
      ],
    ],
    ['a reply', [move('run.interaction.reply.accepted'), move('interaction.answer', 'c1')]],
    ['a reply while the run runs', [move('interaction.answer', 'c1')]],
  ])('%s', (_, batch) => {
    expect(checkBatch(couplings, batch)).toEqual([])
  })
})

describe('checkBatch: moves that do not belong together are refused', () => {
  test.each<[string, BatchMove[], RegExp]>([
    [
      'a tool without its contract',
      [move('tool.success', 'c1')],
      /c1: the moves are not a sequence of thread rows: tool\.success/,
    ],
    [
      'the result in the append that begins the effect',
      [
        move('tool.no_approval_needed', 'c1'),
        move('contract.start', 'c1'),
        move('tool.success', 'c1'),
        move('contract.succeed', 'c1'),
      ],
      /c1: succeeded shares an append with the row that began its effect/,
    ],
    ['calls that are not recorded', [move('turn.tool_calls_received')], /calls_received needs called or asked/],
    [
      'a call without the answer it came in',
      [move('+tool', 'c1'), move('+contract', 'c1')],
      /called needs calls_received/,
    ],
    [
      'an approval asked for by a run that does not wait',
      [
        move('tool.requires_approval', 'c1'),
        move('contract.start', 'c1'),
        move('contract.suspend', 'c1'),
        move('+interaction', 'c1'),
      ],
      /approval_asked needs parked in the same append/,
    ],
    ['a run that is queued without an answer', [move('run.interaction.reply.accepted')], /replied needs answered/],
    ['a run that ends while its turn goes on', [move('run.turn.succeeded')], /not a sequence of frame rows/],
    [
      'the moves of one row in two threads',
      [move('tool.success', 'c1'), move('contract.succeed', 'c2')],
      /c1: the moves are not a sequence.*/,
    ],
  ])('%s', (_, batch, problem) => {
    expect(checkBatch(couplings, batch).join('\n')).toMatch(problem)
  })
})
