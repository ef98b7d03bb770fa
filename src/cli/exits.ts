import type { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'

/** The exit codes of every command. */
export const exits = {
  ok: 0,
  failed: 1,
  usage: 2,
  not_found: 3,
  waiting: 4,
  unproved: 5,
  conflict: 6,
  unreachable: 7,
  unknown: 8,
  interrupted: 130,
  unread: 143,
} as const

/** The name of an exit code. */
export type Exit = keyof typeof exits

/** The meaning of each exit code, for help and reference. */
export const exitMeanings: Readonly<Record<Exit, string>> = {
  ok: 'done',
  failed: 'it did not work, or the run failed or was canceled',
  usage: 'the command line or the request is not valid',
  not_found: 'the id does not exist, or a short id fits several',
  waiting: 'a person must answer',
  unproved: 'the record does not verify',
  conflict: 'the move is not legal now, or another reply or client was first',
  unreachable:
    'the server or the store cannot be reached, another process holds it, or no process works on the run or the goal',
  unknown: 'the outcome is unknown; check before you repeat the action',
  interrupted: 'you interrupted it',
  unread: 'the program that reads the output has ended, as `head` does; the command did not go on',
}

type Code = keyof typeof faults

/** Faults whose exit code does not follow from their HTTP status. */
const exceptions: { readonly [C in Code]?: Exit } = {
  bad_definition: 'failed',
  file_unusable: 'failed',
  id_ambiguous: 'not_found',
  key_reused: 'conflict',
  store_damaged: 'unproved',
  store_poisoned: 'unknown',
  run_not_over: 'waiting',
  session_suspended: 'waiting',
  session_waits: 'waiting',
  coordination_not_over: 'waiting',
  registry_refused: 'failed',
}

const byStatus: { readonly [S in Fault['http']]?: Exit } = {
  400: 'usage',
  404: 'not_found',
  409: 'conflict',
  410: 'conflict',
  415: 'usage',
  422: 'usage',
  503: 'unreachable',
}

/** The exit code of a refusal; the same on a store and through a server. */
export function exitFor(fault: Pick<Fault, 'code' | 'http'>): Exit {
  return exceptions[fault.code as Code] ?? byStatus[fault.http] ?? 'failed'
}
