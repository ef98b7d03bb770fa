import { expect, test } from 'vitest'
import type { Machine, Transition } from '../../src/kernel/machine.ts'
import { agentMachine } from '../../src/machines/agent.ts'
import { machines } from '../../src/machines/all.ts'
import { contractMachine } from '../../src/machines/contract.ts'
import { sessionMachine } from '../../src/machines/session.ts'
import { turnMachine } from '../../src/machines/turn.ts'
import { plusEdge, withEdge, withoutEdge, withState } from './mutate.ts'
import * as shape from './shape.ts'

const contract: Machine = contractMachine
const turn: Machine = turnMachine
const agent: Machine = agentMachine
const edge = (from: string, on: string, to: string, more: Partial<Transition> = {}): Transition => ({
  from,
  on,
  to,
  rune: 'contract.moved',
  ...more,
})
const at = (machine: Machine, from: string, on: string) =>
  machine.transitions.findIndex((t) => t.from === from && t.on === on)

test.each<[string, shape.Check, Machine, string]>([
  ['an initial state that is none', shape.checkNames, { ...contract, initial: 'begun' }, 'begun is not a state'],
  ['an edge to nowhere', shape.checkNames, plusEdge(contract, edge('running', 'x', 'gone')), 'gone is not a state'],
  [
    'an edge declared twice',
    shape.checkNames,
    plusEdge(contract, edge('pending', 'start', 'running')),
    'declared twice',
  ],
  [
    'a state nothing leads to',
    shape.checkReachable,
    withoutEdge(contract, at(contract, 'running', 'suspend')),
    'nothing leads to waiting',
  ],
  [
    'a way out of the end',
    shape.checkTerminal,
    plusEdge(contract, edge('failed', 'retry', 'running')),
    'something leaves',
  ],
  [
    'an end that is not called one',
    shape.checkTerminal,
    withState(contract, 'failed', { tone: 'bad', meaning: 'Over.' }),
    'nothing leaves it',
  ],
  [
    'a trap',
    shape.checkEnding,
    plusEdge(withState(contract, 'trap', { tone: 'active', meaning: 'Stuck.' }), edge('trap', 'stay', 'trap')),
    'trap can never come to an end',
  ],
  ['endlessness that is not declared', shape.checkEnding, without(turn, 'endless'), 'idle can never come to an end'],
  ['endlessness declared for nothing', shape.checkEnding, { ...contract, endless: 'Never.' }, 'declared endless'],
  [
    'an edge that is forbidden',
    shape.checkForbidden,
    plusEdge(contract, edge('waiting', 'finish', 'completed')),
    'waiting → completed is forbidden and declared',
  ],
  [
    'a move forbidden twice',
    shape.checkForbidden,
    { ...contract, forbidden: [...contract.forbidden, ...contract.forbidden.slice(0, 1)] },
    'forbidden twice',
  ],
  [
    'a pair that is not mentioned',
    shape.checkForbiddenComplete,
    { ...contract, forbidden: contract.forbidden.slice(1) },
    'pending → waiting is neither declared nor forbidden',
  ],
  [
    'an edge that is always beaten',
    shape.checkGuards,
    plusEdge(contract, edge('pending', 'start', 'waiting', { when: ['late'] })),
    'can never be chosen',
  ],
  ['an empty list of guards', shape.checkGuards, withEdge(contract, 0, { when: [] }), 'empty list'],
  ['a guard named twice', shape.checkGuards, withEdge(contract, 0, { when: ['a', 'a'] }), 'names a twice'],
  ['a guard spelled wrong', shape.checkGuards, withEdge(contract, 0, { when: ['isOpen'] }), 'isOpen is not spelled'],
  [
    'silent edges in a ring',
    shape.checkSilent,
    plusEdge(turn, edge('idle', 'wake', 'completed', { rune: null })),
    'leads back to itself',
  ],
  [
    'a silent edge with a rival',
    shape.checkSilent,
    plusEdge(turn, edge('completed', 'again', 'streaming', { rune: 'turn.started' })),
    'nothing else can leave completed',
  ],
  [
    'a silent edge with a guard',
    shape.checkSilent,
    withEdge(turn, at(turn, 'error', 'turn_finalized'), { when: ['calm'] }),
    'cannot be guarded',
  ],
  [
    'two edges carried by one rune',
    shape.checkCarriedUnique,
    plusEdge(agent, edge('idle', 'pushed', 'terminated', { rune: 'turn.started', carried: true })),
    'two edges are carried from idle by turn.started',
  ],
  ['a kind spelled wrong', shape.checkRuneKinds, withEdge(contract, 0, { rune: 'contractMoved' }), 'contractMoved'],
  [
    'a kind that opens and moves',
    shape.checkRuneKinds,
    withEdge(contract, 0, { rune: 'contract.opened' }),
    'opens and moves',
  ],
  [
    'a meaning without a period',
    shape.checkSentences,
    withState(contract, 'failed', { tone: 'bad', meaning: 'Over' }),
    '"Over"',
  ],
  ['a meaning that is empty', shape.checkSentences, { ...contract, meaning: '' }, 'not a sentence: ""'],
  [
    'a terminal state that can be resumed',
    shape.checkFlags,
    withState(contract, 'failed', { tone: 'bad', meaning: 'Over.', terminal: true, resumable: true }),
    'failed is terminal and has other flags',
  ],
  [
    'a state that can be resumed and does not last',
    shape.checkFlags,
    withState(contract, 'waiting', { tone: 'waiting', meaning: 'Waiting.', resumable: true }),
    'resumable but not stable',
  ],
  [
    'a terminal state with the tone of work',
    shape.checkTones,
    withState(contract, 'failed', { tone: 'active', meaning: 'Over.', terminal: true }),
    'failed is terminal with the tone active',
  ],
  [
    'a resumable state without the tone of waiting',
    shape.checkTones,
    withState(contract, 'waiting', { tone: 'idle', meaning: 'Waiting.', stable: true, resumable: true }),
    'waiting is resumable with the tone idle',
  ],
])('checks: %s is found', (_, check, mutant, problem) => {
  expect(check(mutant).join('\n')).toContain(problem)
})

test('audit: a carried rune that no machine writes is found', () => {
  const others = machines.filter((machine) => machine.name !== 'turn')
  expect(shape.checkCarriedOwned(others).join('\n')).toContain('agent: no other machine writes turn.started')
})

test('checks: a kind with two owners is found', () => {
  const mutant = withEdge(sessionMachine, 0, { rune: 'run.moved' })
  expect(shape.checkKindsOwnedOnce([...machines, mutant]).join('\n')).toContain('run.moved is written by two machines')
})

function without(machine: Machine, field: 'endless'): Machine {
  const { [field]: _, ...rest } = machine
  return rest
}
