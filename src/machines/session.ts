import { defineMachine, isTerminal, type StateOf } from '../kernel/machine.ts'
import { suppose } from '../kernel/transition.ts'

/** Specification 002, Session (there: conversation). */
export const sessionMachine = defineMachine({
  name: 'session',
  version: 2,
  meaning: 'The container of agents, runs and one runelog; the unit of isolation.',
  initial: 'created',
  opens: 'session.created',

  // biome-ignore format: tables are audited by eye, so their columns line up
  states: {
    created:   { tone: 'idle',    meaning: 'Its id is allocated, its root agent spawned, its runelog begun.', stable: true },
    active:    { tone: 'active',  meaning: 'Runs are taken and turns are run.', stable: true },
    paused:    { tone: 'waiting', meaning: 'Paused by request: no new turn begins, the one in flight comes to its end.', stable: true, resumable: true },
    suspended: { tone: 'waiting', meaning: 'Stopped by itself, by budget or by errors; only an explicit act brings it back.', stable: true, resumable: true },
    closing:   { tone: 'active',  meaning: 'Runs are cancelled and agents terminated; the last runes are written.' },
    closed:    { tone: 'idle',    meaning: 'Over. The runelog is sealed.', stable: true },
    archived:  { tone: 'idle',    meaning: 'Over, and the runelog is in cold storage, still readable and verifiable.', terminal: true },
  },

  // biome-ignore format: as above
  transitions: [
    { from: 'created',   on: 'first_message',      to: 'active',    rune: 'session.activated' },
    { from: 'created',   on: 'agent_ready',        to: 'active',    rune: 'session.activated' },
    { from: 'created',   on: 'close_requested',    to: 'closing',   rune: 'session.closing',
      extension: 'A session nobody ever wrote to must be closable.' },

    { from: 'active',    on: 'new_turn',           to: 'active',    rune: 'turn.started',   carried: true },
    { from: 'active',    on: 'turn_completed',     to: 'active',    rune: 'turn.completed', carried: true },
    { from: 'active',    on: 'pause_requested',    to: 'paused',    rune: 'session.paused' },
    { from: 'active',    on: 'budget_exhausted',   to: 'suspended', rune: 'session.suspended' },
    { from: 'active',    on: 'error_threshold',    to: 'suspended', rune: 'session.suspended' },
    { from: 'active',    on: 'close_requested',    to: 'closing',   rune: 'session.closing' },

    { from: 'paused',    on: 'resume_requested',   to: 'active',    rune: 'session.resumed' },
    { from: 'paused',    on: 'close_requested',    to: 'closing',   rune: 'session.closing' },

    { from: 'suspended', on: 'budget_replenished', to: 'active',    rune: 'session.unsuspended' },
    { from: 'suspended', on: 'reset',              to: 'active',    rune: 'session.unsuspended' },
    { from: 'suspended', on: 'close_requested',    to: 'closing',   rune: 'session.closing' },

    { from: 'closing',   on: 'cleanup_complete',   to: 'closed',    rune: 'session.closed' },
    { from: 'closed',    on: 'archive_requested',  to: 'archived',  rune: 'session.archived' },
  ],

  // biome-ignore format: as above
  forbidden: [
    { from: 'active',    to: 'closed',    because: 'Runs and agents are ended first; close_requested begins that.' },
    { from: 'paused',    to: 'suspended', because: 'A paused session begins nothing that could exhaust it.' },
    { from: 'suspended', to: 'paused',    because: 'It is already stopped; replenish or reset it, or close it.' },
    { from: 'closing',   to: 'active',    because: 'Closing is not taken back; open a new session.' },
    { from: 'closed',    to: 'active',    because: 'A sealed runelog accepts no more work; open a new session.' },
    { from: 'active',    to: 'archived',  because: 'Only a closed session is archived.' },
    { from: 'archived',  to: 'closed',    because: 'An archive is read where it is.' },
    { from: 'archived',  to: 'active',    because: 'An archived session is over; open a new one.' },
  ],
})

/** A state of a session. */
export type SessionState = StateOf<typeof sessionMachine>

/** Whether the log of a session in this state is sealed. False for a session without a state. */
export function isSealed(state: string | undefined): boolean {
  return state === 'closed' || isTerminal(sessionMachine, state)
}

/** Whether a session in this state takes no more work for good. One that can still be closed is not over. */
export function isOver(state: string): boolean {
  return !suppose(sessionMachine, state as SessionState, 'close_requested').allowed
}
