import { defineMachine, type StateOf, type TriggerOf } from '../kernel/machine.ts'

/** Specification 000. The list of forbidden moves is complete: every pair of different states without an edge. */
export const contractMachine = defineMachine({
  name: 'contract',
  version: 2,
  meaning: 'One attempt to do one action: a tool call, or a step handed to a person.',
  initial: 'pending',
  opens: 'contract.opened',

  // biome-ignore format: tables are audited by eye, so their columns line up
  states: {
    pending:   { tone: 'idle',    meaning: 'Recorded; nobody has begun it.' },
    running:   { tone: 'active',  meaning: 'Begun: from here on the action may be happening.' },
    waiting:   { tone: 'waiting', meaning: 'Suspended until an answer arrives, however long that takes.', stable: true, resumable: true },
    completed: { tone: 'good',    meaning: 'It happened, and its result is recorded.', terminal: true },
    failed:    { tone: 'bad',     meaning: 'It was tried and did not happen; a new attempt is allowed.', terminal: true },
    rejected:  { tone: 'bad',     meaning: 'Refused by a rule or a person before it had any effect.', terminal: true },
    cancelled: { tone: 'idle',    meaning: 'Withdrawn, by request or by timeout, with nothing done.', terminal: true },
  },

  // biome-ignore format: as above
  transitions: [
    { from: 'pending', on: 'start',   to: 'running',   rune: 'contract.moved' },

    { from: 'running', on: 'succeed', to: 'completed', rune: 'contract.moved' },
    { from: 'running', on: 'fail',    to: 'failed',    rune: 'contract.moved' },
    { from: 'running', on: 'reject',  to: 'rejected',  rune: 'contract.moved' },
    { from: 'running', on: 'suspend', to: 'waiting',   rune: 'contract.moved' },
    { from: 'running', on: 'cancel',  to: 'cancelled', rune: 'contract.moved' },

    { from: 'waiting', on: 'resume',  to: 'running',   rune: 'contract.moved' },
    { from: 'waiting', on: 'cancel',  to: 'cancelled', rune: 'contract.moved' },
    { from: 'waiting', on: 'timeout', to: 'cancelled', rune: 'contract.moved' },
  ],

  // biome-ignore format: as above
  forbidden: [
    { from: 'pending',   to: 'waiting',   because: 'Only something begun can be suspended: start it first.' },
    { from: 'pending',   to: 'completed', because: 'Nothing completes that was never begun.' },
    { from: 'pending',   to: 'failed',    because: 'Nothing fails that was never tried.' },
    { from: 'pending',   to: 'rejected',  because: 'A refusal is recorded as a begun attempt that was rejected.' },
    { from: 'pending',   to: 'cancelled', because: 'To withdraw what never began, start and cancel it in one append.' },
    { from: 'running',   to: 'pending',   because: 'What has begun cannot be made not to have begun.' },
    { from: 'waiting',   to: 'pending',   because: 'What has begun cannot be made not to have begun.' },
    { from: 'waiting',   to: 'completed', because: 'An answer resumes the work; only the work can complete it.' },
    { from: 'waiting',   to: 'failed',    because: 'An answer resumes the work; only the work can fail.' },
    { from: 'waiting',   to: 'rejected',  because: 'A refusal resumes the work, which then ends as rejected.' },

    { from: 'completed', to: 'pending',   because: 'What happened cannot be undone here; open a new contract.' },
    { from: 'completed', to: 'running',   because: 'What happened is not done again; open a new contract.' },
    { from: 'completed', to: 'waiting',   because: 'What happened waits for nobody.' },
    { from: 'completed', to: 'failed',    because: 'What happened did not fail; record the trouble as a new fact.' },
    { from: 'completed', to: 'rejected',  because: 'It is too late to refuse what happened.' },
    { from: 'completed', to: 'cancelled', because: 'It is too late to withdraw what happened.' },
    { from: 'failed',    to: 'pending',   because: 'A retry is a new contract with an id of its own.' },
    { from: 'failed',    to: 'running',   because: 'A retry is a new contract with an id of its own.' },
    { from: 'failed',    to: 'waiting',   because: 'A failed attempt waits for nobody; a retry is a new contract.' },
    { from: 'failed',    to: 'completed', because: 'A failed attempt never succeeds later; a retry is a new contract.' },
    { from: 'failed',    to: 'rejected',  because: 'It was tried, so it can no longer be refused.' },
    { from: 'failed',    to: 'cancelled', because: 'It was tried and is over; there is nothing to withdraw.' },
    { from: 'rejected',  to: 'pending',   because: 'A refusal is final; asking again is a new contract.' },
    { from: 'rejected',  to: 'running',   because: 'A refusal is final; asking again is a new contract.' },
    { from: 'rejected',  to: 'waiting',   because: 'A refusal is final; asking again is a new contract.' },
    { from: 'rejected',  to: 'completed', because: 'What was refused did not happen.' },
    { from: 'rejected',  to: 'failed',    because: 'What was refused was not tried.' },
    { from: 'rejected',  to: 'cancelled', because: 'What was refused is over; there is nothing to withdraw.' },
    { from: 'cancelled', to: 'pending',   because: 'What was withdrawn stays so; open a new contract.' },
    { from: 'cancelled', to: 'running',   because: 'What was withdrawn stays so; open a new contract.' },
    { from: 'cancelled', to: 'waiting',   because: 'What was withdrawn waits for nobody.' },
    { from: 'cancelled', to: 'completed', because: 'A late result is recorded beside it; the contract stays withdrawn.' },
    { from: 'cancelled', to: 'failed',    because: 'A late error is recorded beside it; the contract stays withdrawn.' },
    { from: 'cancelled', to: 'rejected',  because: 'What was withdrawn need not be refused.' },
  ],
})

/** A status of an execution contract. */
export type ContractStatus = StateOf<typeof contractMachine>
/** A trigger of an execution contract. */
export type ContractTrigger = TriggerOf<typeof contractMachine>
