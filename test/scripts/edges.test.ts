import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { edgeReport, type Untaken } from '../../scripts/edges.ts'
import type { Machine } from '../../src/kernel/machine.ts'
import { machines } from '../../src/machines/all.ts'
import { edgesTaken } from '../support/edges-taken.ts'

const all = (machines as readonly Machine[]).flatMap((machine) =>
  machine.transitions.map(({ from, to, on }) => `${machine.name}: ${from} → ${to} on ${on}`),
)
const [first = '', second = ''] = all
const but = (...names: readonly string[]) => new Set(all.filter((edge) => !names.includes(edge)))

test('edges: every one that is declared has to be taken or explained', () => {
  expect(edgeReport(machines, new Set(all), [])).toEqual({ declared: all.length, taken: all.length, problems: [] })
  expect(edgeReport(machines, but(first), [{ edge: first, because: 'It is drawn.' }]).problems).toEqual([])
  expect(edgeReport(machines, but(first, second), []).problems).toEqual([
    expect.stringContaining(`${first}: no test saw`),
    expect.stringContaining(`${second}: no test saw`),
  ])
})

test('edges: one that is explained and taken, or that there is not, fails', () => {
  const explained = [first, 'turn: idle → error on nothing'].map((edge) => ({ edge, because: 'It is drawn.' }))
  expect(edgeReport(machines, new Set(all), explained).problems).toEqual([
    expect.stringContaining(`${first}: the product takes it`),
    'turn: idle → error on nothing: there is no such edge.',
  ])
})

test('edges: each explanation names a specification', () => {
  const explained = JSON.parse(readFileSync('spec/untaken-edges.json', 'utf8')) as readonly Untaken[]
  for (const { edge, because } of explained) {
    expect(all).toContain(edge)
    expect(because).toMatch(/^Specification 00[0-4] (draws|asks for) it: /)
  }
})

test('edges: a rune takes its own edge, those that it carries, and those that follow by themselves', () => {
  const rune = {
    ...{ kind: 'turn.completed', session_id: 'ses_1', agent_id: 'agt_1', machine: 'turn', subject_id: 'turn_1' },
    ...{ from: 'streaming', to: 'completed', trigger: 'response_done', payload: {} },
  }
  const before = new Map([
    ['ses_1', 'active'],
    ['agt_1', 'running_turn'],
  ])
  expect(edgesTaken([rune as never], before)).toEqual([
    'turn: streaming → completed on response_done',
    'turn: completed → idle on turn_finalized',
    'session: active → active on turn_completed',
    'agent: running_turn → idle on turn_completed',
  ])
  // A paused session is not moved along.
  expect(edgesTaken([rune as never], new Map([['ses_1', 'paused']]))).toHaveLength(2)
})
