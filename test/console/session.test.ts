import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createHistory } from '../../console/replay/history.ts'
import { createPaths, timesTaken } from '../../console/session/paths.ts'
import { createSpine } from '../../console/session/spine.ts'
import { createTimeline } from '../../console/session/timeline.ts'
import { createTranscript } from '../../console/session/transcript.ts'
import { foldSession, newSessionState } from '../../src/observation/fold-session.ts'
import type { Rune } from '../../src/runes/rune.ts'
import { anyDice, randomRun } from '../support/random-run.ts'
import { stateAt } from '../support/state-at.ts'

const anyRun = anyDice.map((dice) => randomRun(dice).runes as readonly Rune[])

test('session: the state at any event, by scrubbing, is the state that the reducers give', () => {
  fc.assert(
    fc.property(anyRun, fc.nat(), (runes, n) => {
      const at = (n % runes.length) + 1
      const moment = createHistory(runes).at(at)
      expect([...moment.subjects]).toEqual([...stateAt(runes, at)])
      const state = newSessionState(runes[0]?.session_id ?? '')
      for (const rune of runes.slice(0, at)) foldSession(state, rune)
      expect(moment.state).toEqual(state)
    }),
    { seed: 20, numRuns: 60 },
  )
})

test('session: a history that is longer than the kept window is the same', () => {
  const runes = Array.from({ length: 60 }, (_, i) => randomRun(dice(i)).runes as readonly Rune[]).flat()
  const long = runes.map((rune, i) => ({ ...rune, event_id: i + 1 }))
  expect(long.length).toBeGreaterThan(1_000)
  const history = createHistory(long)
  for (const at of [1, 999, 1_000, 1_001, long.length]) {
    const told = createHistory(long.slice(0, at)).at(at)
    expect([...history.at(at).subjects]).toEqual([...told.subjects])
  }
})

test('session: a spine that begins in the middle ends where one from the beginning does', () => {
  fc.assert(
    fc.property(anyRun, fc.nat(), (runes, n) => {
      const known = n % runes.length
      const given = [...stateAt(runes, known).values()]
      const late = createSpine(given, known)
      const early = createSpine([])
      for (const rune of runes) {
        late.take(rune)
        early.take(rune)
      }
      const alive = (spine: typeof late) => spine.entries().map(({ subject_id, state }) => `${subject_id} ${state}`)
      const wasOver = new Set(given.map(({ subject_id }) => subject_id))
      // Runs that had ended when the server looked are not on its list either.
      expect(alive(late).filter((entry) => alive(early).includes(entry))).toEqual(alive(early))
      for (const entry of alive(late))
        if (!alive(early).includes(entry)) expect(wasOver.has(entry.split(' ')[0] as string)).toBe(true)
    }),
    { seed: 21, numRuns: 60 },
  )
})

test('session: every call is told once in the transcript, with the state that it is in', () => {
  fc.assert(
    fc.property(anyRun, (runes) => {
      const transcript = createTranscript()
      for (const rune of runes) transcript.take(rune)
      const cards = transcript.entries.filter((entry) => entry.type === 'tool')
      const opened = new Set(
        runes.flatMap((r) => (r.kind === 'tool.call' || r.kind === 'contract.opened' ? [r.call_id] : [])),
      )
      expect(cards.map((card) => card.call_id).sort()).toEqual([...opened].sort())
      const states = stateAt(runes)
      for (const { call_id, tool, execution_id, contract } of cards) {
        if (tool !== null) expect(states.get(call_id)?.state).toBe(tool)
        if (execution_id !== null) expect(states.get(execution_id)?.state).toBe(contract)
      }
    }),
    { seed: 22, numRuns: 60 },
  )
})

test('session: the bars of a lane follow each other without a gap or an overlap', () => {
  fc.assert(
    fc.property(anyRun, (runes) => {
      const timeline = createTimeline()
      for (const rune of runes) timeline.take(rune)
      for (const { segments, end } of timeline.lanes.values()) {
        for (const [i, segment] of segments.entries()) {
          const next = segments[i + 1]
          if (next !== undefined) expect(next.from).toBe(segment.to)
          else expect(segment.to === null).toBe(end === null)
        }
      }
    }),
    { seed: 23, numRuns: 60 },
  )
})

test('session: every move of every path is one that the declaration has', () => {
  fc.assert(
    fc.property(anyRun, (runes) => {
      const paths = createPaths()
      for (const rune of runes) paths.take(rune)
      for (const moves of paths.moves.values()) {
        const taken = timesTaken(moves[0]?.machine ?? '', moves)
        const declared = [...taken.values()].reduce((sum, times) => sum + times, 0)
        expect(declared).toBe(moves.filter(({ from }) => from !== null).length)
      }
    }),
    { seed: 24, numRuns: 60 },
  )
})

function dice(seed: number): readonly number[] {
  return fc.sample(anyDice, { seed, numRuns: 1 })[0] as readonly number[]
}
