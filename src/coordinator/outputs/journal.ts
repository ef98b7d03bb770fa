import { z } from 'zod'
import { canonicalJson } from '../../kernel/canonical-json.ts'
import { type RunTape, runTape, tapeEntry } from '../schemas/record.ts'
import { timedTape } from '../tape.ts'
import type { PlanProblem } from './artifacts.ts'
import type { FrozenFiles } from './freeze.ts'
import { journalFile } from './statement.ts'

/** When each move was made and how long the state before it lasted, waiting included. */
export const journal = z.strictObject({
  schema_version: z.literal('1.0.0'),
  coordinator_run_id: z.string(),
  entries: z.array(
    z.strictObject({
      ...tapeEntry.pick({ sequence: true, from_state: true, to_state: true, trigger: true }).shape,
      /** Milliseconds since 1970. */
      at: z.int().min(0),
      duration_ms: z.int().min(0),
    }),
  ),
})

/** See `journal`. */
export type Journal = z.infer<typeof journal>

/** `times` are the instants at which the entries of the tape were made. */
export function journalOf({ run_id, entries }: Pick<RunTape, 'run_id' | 'entries'>, times: readonly number[]): Journal {
  return {
    schema_version: '1.0.0',
    coordinator_run_id: run_id,
    entries: timedTape(entries, times).map(({ sequence, from_state, to_state, trigger, at, duration_ms }) => ({
      sequence,
      from_state,
      to_state,
      trigger,
      at,
      duration_ms,
    })),
  }
}

/** The frozen files with their journal. */
export function withJournal(files: FrozenFiles, times: readonly number[]): FrozenFiles {
  const tape = runTape.parse(JSON.parse(files['run_tape.json'] ?? 'null'))
  return { ...files, [journalFile]: canonicalJson(journalOf(tape, times)) }
}

/** Whether a journal tells of the moves on the tape. Its times rest on nothing else and cannot be checked. */
export function journalProblems(text: string | undefined, tape: RunTape): PlanProblem[] {
  if (text === undefined) return []
  const wrong = (check: 'schema' | 'lineage', message: string) => [{ file: journalFile, check, message }]
  const found = journal.safeParse(jsonIn(text)).data
  if (found === undefined) return wrong('schema', 'It does not have the shape of a journal.')
  if (found.entries.length !== tape.entries.length) return wrong('lineage', 'It tells of other moves than the tape.')
  const times = found.entries.map(({ at }) => at)
  if (canonicalJson(journalOf(tape, times)) === canonicalJson(found)) return []
  return wrong('lineage', 'It tells of other moves than the tape, or of durations that its times do not give.')
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
