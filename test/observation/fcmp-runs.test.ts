import { expect, test } from 'vitest'
import { isTerminal } from '../../src/kernel/machine.ts'
import { type RunStatus, runMachine } from '../../src/machines/run.ts'
import { checkFcmp } from '../../src/observation/fcmp-check.ts'
import { changes, type FcmpEvent, fcmpEvent } from '../../src/wire/fcmp.ts'
import { isProof, seed } from '../support/sampling.ts'
import { createTally } from '../support/tally.ts'
import { liveThrough } from './fcmp-life.ts'

const tally = createTally()
const lives = isProof ? 250 : 25
const each = 20
const within_ms = isProof ? 3_600_000 : 240_000

/** Cases that must occur among the runs, in addition to every type of event and every change of the run. */
const ways = [
  ...['waiting_user', 'queued', 'running'].flatMap((at) => [
    `user_reply while ${at}`,
    `auto_decide_timeout while ${at}`,
  ]),
  ...['withdrawn while waiting_user', 'withdrawn while running', 'left_to_inbox while waiting_user'],
  ...['approve', 'deny', 'reject', 'happened', 'did_not', 'leave'].map((word) => `a person says ${word}`),
  ...['an approval is denied by human', 'an approval is denied by policy', 'an approval is void and asked again'],
  ...['a step is rejected', 'a turn is tried again', 'session.suspended', 'session.paused'],
  ...['OUTCOME_UNKNOWN', 'RECOVERY_LIMIT', 'SCRIPTED_ERROR', 'SESSION_RESUME_FAILED'].map((code) => `failed: ${code}`),
]

/** Where the run was when each of its questions ended, and how. */
function endsOfQuestions(events: readonly FcmpEvent[]): {
  readonly ends: readonly string[]
  readonly left: readonly string[]
} {
  const open = new Set<string>()
  const ends: string[] = []
  let at: string = runMachine.initial
  for (const { type, data } of events) {
    if (type === 'conversation.state.changed') at = data.to
    else if (type === 'user.input.required') open.add(data.interaction_id ?? 'not public')
    else if ('resolution_mode' in data && open.delete(data.interaction_id))
      ends.push(`${data.resolution_mode} while ${at}`)
  }
  return { ends, left: [...open] }
}

test(
  `F-22 FCMP: every question is closed in the stream of each of ${lives * each} random runs`,
  async () => {
    const seen = new Map<string, number>()
    const see = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)
    for (let life = 0; life < lives; life++)
      for (const { run_id, status, heard, history, rounds, facts } of await liveThrough(seed * 1_000 + life, each)) {
        const said = `life ${life}, ${run_id}: ${rounds.join(' ')}`
        expect(isTerminal(runMachine, status), said).toBe(true)
        expect(heard, said).toEqual(history)
        expect(checkFcmp(heard, { runId: run_id, status: status as RunStatus }), said).toEqual([])
        const events = heard as readonly FcmpEvent[]
        const { ends, left } = endsOfQuestions(events)
        expect(left, said).toEqual([])
        for (const what of [...ends, ...facts]) see(what)
        for (const { type, data } of events) {
          see(type)
          if (type !== 'conversation.state.changed') continue
          see(`${data.from} → ${data.to} (${data.trigger})`)
          if (data.terminal?.status === 'failed') see(`failed: ${data.terminal.error.code}`)
        }
        tally.count(`random runs that are ${status}, followed over FCMP`)
      }
    for (const [what, times] of seen) tally.count(`  of them, seen: ${what}`, times)
    const expected = [
      ...ways,
      ...fcmpEvent.options.map(({ shape }) => shape.type.value),
      ...changes.map(({ from, to, on }) => `${from} → ${to} (${on})`),
    ]
    expect(expected.filter((what) => !seen.has(what))).toEqual([])
  },
  within_ms,
)
