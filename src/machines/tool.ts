import { defineMachine, type StateOf } from '../kernel/machine.ts'

/** Specification 002, Tool Lifecycle. Every call ends with exactly one `tool.result`. */
export const toolMachine = defineMachine({
  name: 'tool',
  version: 2,
  meaning: 'One invocation of one tool, from the call to its only result.',
  initial: 'pending_call',
  opens: 'tool.call',

  // biome-ignore format: tables are audited by eye, so their columns line up
  states: {
    pending_call:      { tone: 'idle',    meaning: 'The model asked for it; nothing has been decided.' },
    awaiting_approval: { tone: 'waiting', meaning: 'A person has to approve it before it may run.', stable: true },
    executing:         { tone: 'active',  meaning: 'It may be acting on the world.' },
    denied:            { tone: 'bad',     meaning: 'Refused by a person or by policy; it never ran.', terminal: true },
    completed_result:  { tone: 'good',    meaning: 'It ran and gave a result.', terminal: true },
    error_result:      { tone: 'bad',     meaning: 'It ended in an error, or nobody can know how it ended.', terminal: true },
    timeout_result:    { tone: 'bad',     meaning: 'Approval or execution took too long.', terminal: true },
    cancelled_result:  { tone: 'idle',    meaning: 'Stopped by request.', terminal: true },
  },

  // biome-ignore format: as above
  transitions: [
    { from: 'pending_call',      on: 'requires_approval',  to: 'awaiting_approval', rune: 'tool.approval_requested' },
    { from: 'pending_call',      on: 'auto_approved',      to: 'executing',         rune: 'tool.approved' },
    { from: 'pending_call',      on: 'no_approval_needed', to: 'executing',         rune: 'tool.moved' },
    { from: 'pending_call',      on: 'cancelled',          to: 'cancelled_result',  rune: 'tool.result',
      extension: 'An interrupt may come before execution, and every call needs its result.' },

    { from: 'awaiting_approval', on: 'approved',           to: 'executing',         rune: 'tool.approved' },
    { from: 'awaiting_approval', on: 'denied',             to: 'denied',            rune: 'tool.denied' },
    { from: 'awaiting_approval', on: 'approval_timeout',   to: 'timeout_result',    rune: 'tool.result' },
    { from: 'awaiting_approval', on: 'cancelled',          to: 'cancelled_result',  rune: 'tool.result',
      extension: 'An interrupt may come before execution, and every call needs its result.' },

    { from: 'executing',         on: 'progress_update',    to: 'executing',         rune: 'tool.progress' },
    { from: 'executing',         on: 'success',            to: 'completed_result',  rune: 'tool.result' },
    { from: 'executing',         on: 'execution_error',    to: 'error_result',      rune: 'tool.result' },
    { from: 'executing',         on: 'execution_timeout',  to: 'timeout_result',    rune: 'tool.result' },
    { from: 'executing',         on: 'cancelled',          to: 'cancelled_result',  rune: 'tool.result' },
    { from: 'executing',         on: 'outcome_unknown',    to: 'error_result',      rune: 'tool.result',
      extension: 'A run that ends while nobody can know whether the action happened still owes the call its result.' },
  ],

  // biome-ignore format: as above
  forbidden: [
    { from: 'pending_call',      to: 'denied',            because: 'A refusal goes through awaiting_approval, so that who refused is on record.' },
    { from: 'pending_call',      to: 'completed_result',  because: 'INV-TOOL-CALL-BEFORE-RESULT: what never ran has no result to give.' },
    { from: 'pending_call',      to: 'error_result',      because: 'What never ran did not fail.' },
    { from: 'pending_call',      to: 'timeout_result',    because: 'Nothing that could take too long has begun.' },
    { from: 'awaiting_approval', to: 'completed_result',  because: 'INV-TOOL-APPROVAL-BEFORE-EXEC: it must be approved and run first.' },
    { from: 'awaiting_approval', to: 'error_result',      because: 'It has not run, so it cannot have failed.' },
    { from: 'awaiting_approval', to: 'pending_call',      because: 'A request for approval is answered, never taken back.' },
    { from: 'executing',         to: 'awaiting_approval', because: 'INV-TOOL-APPROVAL-BEFORE-EXEC: approval comes before execution.' },
    { from: 'executing',         to: 'denied',            because: 'What is running can be cancelled; it is too late to refuse it.' },
    { from: 'denied',            to: 'executing',         because: 'A refusal is final for this call; the model may call again.' },
    { from: 'completed_result',  to: 'executing',         because: 'INV-TOOL-TERMINAL: one call, one result.' },
    { from: 'error_result',      to: 'executing',         because: 'INV-TOOL-TERMINAL: a retry is a new call.' },
    { from: 'timeout_result',    to: 'executing',         because: 'INV-TOOL-TERMINAL: a retry is a new call.' },
    { from: 'cancelled_result',  to: 'executing',         because: 'INV-TOOL-TERMINAL: a retry is a new call.' },
  ],
})

/** A state of a tool call. */
export type ToolState = StateOf<typeof toolMachine>
