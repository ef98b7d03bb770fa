import { describe, expect, test } from 'vitest'
import { timedTape } from '../../src/coordinator/coordinate.ts'
import { answering, intentOf, openQuestion, plan } from '../support/coordinator.ts'
import { scenario } from '../support/scenario.ts'

describe('Coordinator: tape and audit log', () => {
  const intent = intentOf((i) => ({ ...i, open_questions: [openQuestion('which_way')] }))
  const { tape, audit, run_id } = plan({ intent }, [answering(plan({ intent }).waits_for, { which_way: 'go' })])

  scenario(
    'CO-22',
    'Every move is on the tape with trigger, guards and outputs, and gets its time from outside',
    () => {
      // GIVEN a whole run with a question
      expect(tape.state).toBe('DONE')
      // THEN its entries follow each other without a gap, and every guarded move has its readings
      expect(tape.entries.map(({ sequence }) => sequence)).toEqual(tape.entries.map((_, i) => i + 1))
      for (const [i, entry] of tape.entries.entries()) {
        expect(entry.from_state).toBe(i === 0 ? 'INIT' : tape.entries[i - 1]?.to_state)
        expect(entry.trigger).toMatch(/^[a-z_]+$/)
        if (i > 1) expect(entry.guards_evaluated.length).toBeGreaterThan(0)
        for (const { reason } of entry.guards_evaluated) expect(reason).toMatch(/\w/)
      }
      expect(tape.entries.slice(2).every(({ outputs_produced }) => outputs_produced.length > 0)).toBe(true)
      // AND the tape itself knows no time; joined with the times of the record, every entry has instant and duration
      expect(JSON.stringify(tape)).not.toMatch(/_at"|timestamp|duration/)
      const times = tape.entries.map((_, i) => 1_700_000_000_000 + i * i * 10)
      const timed = timedTape(tape.entries, times)
      expect(timed.map(({ at }) => at)).toEqual(times)
      expect(timed.slice(0, 4).map(({ duration_ms }) => duration_ms)).toEqual([0, 10, 30, 50])
    },
  )

  scenario('CO-22', 'Significant decisions are in the audit log, in order, each with an id of its own', () => {
    // GIVEN the same run, THEN the log tells its story
    const types = audit.map(({ event_type }) => event_type)
    expect(types[0]).toBe('run_started')
    expect(types.at(-1)).toBe('run_completed')
    for (const type of [
      'red_line_check',
      'policy_enforcement',
      'rule_adjudication',
      'question_emitted',
      'answer_received',
    ])
      expect(types).toContain(type)
    // AND entries are numbered, named by their content and belong to the run
    expect(audit.map(({ sequence }) => sequence)).toEqual(audit.map((_, i) => i + 1))
    expect(new Set(audit.map(({ log_id }) => log_id)).size).toBe(audit.length)
    expect(audit.every(({ coordinator_run_id }) => coordinator_run_id === run_id)).toBe(true)
  })

  test('a tape and times that do not belong together are not joined', () => {
    expect(() => timedTape(tape.entries, [1])).toThrow(RangeError)
  })
})
