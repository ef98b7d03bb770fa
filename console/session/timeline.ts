import { isTerminal, type Machine, stateOf } from '../../src/kernel/machine.ts'
import { contractMachine } from '../../src/machines/contract.ts'
import { runMachine } from '../../src/machines/run.ts'
import { turnMachine } from '../../src/machines/turn.ts'
import type { Rune } from '../../src/runes/rune.ts'
import { looks } from '../tones.ts'

/** The activity in a stretch of a bar. */
export type Spending = 'queued' | 'running' | 'person' | 'tool' | 'unknown'

/** Activities in words. */
export const spendings: { readonly [S in Spending]: string } = {
  queued: 'queued',
  running: 'running',
  person: looks.waiting.meaning,
  tool: 'waits for a tool',
  unknown: looks.unknown.meaning,
}

/** The activity in each state of this machine, by the tone of the state. */
function spendingOf(machine: Machine, state: string): Spending {
  const tone = stateOf(machine, state)?.tone
  return tone === 'idle' ? 'queued' : tone === 'waiting' ? 'person' : 'running'
}

/** A stretch of a lane in one state. */
export interface Segment {
  readonly spending: Spending
  readonly state: string
  readonly from: number
  /** Null while it lasts. */
  to: number | null
  readonly event_id: number
}

/** One row of the timeline. */
export interface Lane {
  readonly lane_id: string
  readonly kind: 'system' | 'person' | 'run' | 'call'
  label: string
  readonly depth: number
  readonly segments: Segment[]
  readonly marks: { readonly at: number; readonly event_id: number; readonly text: string }[]
  /** How it ended, in the word of its machine. */
  end: string | null
}

interface Timeline {
  readonly lanes: Map<string, Lane>
  /** When anything happened, in order. */
  readonly times: number[]
  readonly take: (rune: Rune) => void
}

/** The lanes: one for the system, one for people, one for each run and, below it, one for each of its calls. */
export function createTimeline(): Timeline {
  const lanes = new Map<string, Lane>()
  const times: number[] = []
  const runs = new Map<string, { status: string; turn: string }>()

  function lane(lane_id: string, kind: Lane['kind'], label: string, depth: number): Lane {
    let found = lanes.get(lane_id)
    if (found === undefined) {
      found = { lane_id, kind, label, depth, segments: [], marks: [], end: null }
      lanes.set(lane_id, found)
    }
    return found
  }
  lane('system', 'system', 'system', 0)
  lane('person', 'person', 'people', 0)

  function enter(on: Lane, rune: Rune, spending: Spending | null, state: string) {
    const last = on.segments.at(-1)
    if (last !== undefined && last.to === null) {
      if (last.spending === spending && last.state === state) return
      last.to = rune.at
    }
    if (spending === null) on.end = state
    else on.segments.push({ spending, state, from: rune.at, to: null, event_id: rune.event_id })
  }

  function runMoved(rune: Rune, change: { status?: string; turn?: string }) {
    const run_id = rune.run_id ?? ''
    const was = runs.get(run_id) ?? { status: 'running', turn: turnMachine.initial }
    const is = { ...was, ...change }
    runs.set(run_id, is)
    const on = lane(run_id, 'run', run_id, 0)
    if (isTerminal(runMachine, is.status)) return enter(on, rune, null, is.status)
    const spending = spendingOf(runMachine, is.status)
    if (spending !== 'running' || is.turn === turnMachine.initial) return enter(on, rune, spending, is.status)
    enter(on, rune, is.turn === 'tool_executing' ? 'tool' : spending, is.turn)
  }

  function take(rune: Rune) {
    const { at, event_id } = rune
    times.push(at)
    const mark = (on: string, text: string) => lanes.get(on)?.marks.push({ at, event_id, text })
    if (rune.kind === 'run.submitted') {
      lane(rune.run_id ?? '', 'run', `${rune.payload.agent}`, 0)
      mark('person', 'asked for a run')
    }
    if (rune.machine === 'run') runMoved(rune, { status: rune.to ?? '' })
    if (rune.machine === 'turn') runMoved(rune, { turn: rune.to ?? '' })
    if (rune.machine === 'contract') callMoved(rune)
    if (rune.kind === 'interaction.answered') mark('person', `${rune.payload.replied_by} answered`)
    if (rune.kind === 'run.requested') mark('person', rune.payload.request)
    if (rune.machine === 'session') mark('system', rune.to ?? rune.kind)
    if (rune.trigger?.startsWith('restart.')) mark('system', rune.trigger)
  }

  function callMoved(rune: Rune) {
    const id = rune.execution_id ?? ''
    const on = lane(id, 'call', rune.kind === 'contract.opened' ? rune.payload.action_summary : id, 1)
    const state = rune.to ?? ''
    if (isTerminal(contractMachine, state)) return enter(on, rune, null, state)
    const isUnknown = rune.kind === 'contract.moved' && rune.payload.reason === 'outcome_unknown'
    const spending = spendingOf(contractMachine, state)
    enter(on, rune, isUnknown && spending === 'person' ? 'unknown' : spending, state)
  }

  return { lanes, times, take }
}
