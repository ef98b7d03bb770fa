import { expect, test } from 'vitest'
import type { Recorded } from '../../src/observation/sequence.ts'
import { auditRunes } from './audit-runes.ts'

export interface Stage {
  /**
   * Names the log this scenario writes. It is read when the play is over, so
   * that it can be named as soon as it exists, and judged as a whole: every
   * move against its machine, and the invariants.
   */
  record(log: RuneSource): void
}

export type RuneSource =
  | readonly Recorded[]
  | (() => readonly Recorded[] | Promise<readonly Recorded[]> | AsyncIterable<Recorded>)

export type Play = (stage: Stage) => void | Promise<void>

/** A requirement, played. The id comes first in the title, where the coverage script and every report look for it. */
export function scenario(id: string, title: string, play: Play, timeout_ms?: number): void {
  test(`${id} ${title}`, { ...(timeout_ms === undefined ? {} : { timeout: timeout_ms }) }, () => perform(play))
}

/** Plays and then judges: a play that asserts nothing proves nothing, and a log that breaks a rule is a failure. */
export async function perform(play: Play): Promise<void> {
  const logs: RuneSource[] = []
  const before = expect.getState().assertionCalls
  await play({ record: (log) => void logs.push(log) })
  if (expect.getState().assertionCalls === before) throw new Error('The scenario asserted nothing.')

  for (const log of logs) {
    const runes = await Array.fromAsync(typeof log === 'function' ? await log() : log)
    if (runes.length === 0) throw new Error('The scenario named a log that holds no runes.')
    const problems = auditRunes(runes)
    if (problems.length > 0) throw new Error(`The log breaks its own rules:\n  ${problems.join('\n  ')}`)
  }
}
