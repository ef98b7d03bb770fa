import { defineGuarded, finding, type StateOf, type TriggerOf } from '../kernel/machine.ts'

const runGuards = {
  session_is_active: ({ session }: { session: string }) =>
    finding(session === 'active', 'The session is active.', `The session is ${session}.`),
  mode_is_interactive: ({ mode }: { mode: string }) =>
    finding(mode === 'interactive', 'The run is interactive.', `The mode of the run is ${mode}.`),
  reply_is_optional: ({ strict }: { strict: boolean }) =>
    finding(!strict, 'The run need not have a reply.', 'The run waits for a reply however long that takes.'),
  interaction_is_open: ({ open_questions }: { open_questions: number }) =>
    finding(open_questions > 0, `${open_questions} of its questions are open.`, 'None of its questions is open.'),
  agent_is_configured: ({ is_configured }: { is_configured: boolean }) =>
    finding(is_configured, 'Its agent is configured.', 'Its agent is not configured.'),
  checkpoint_verifies: ({ has_turn }: { has_turn: boolean }) =>
    finding(has_turn, 'The record has the turn that it waits in.', 'The record has no turn for it to wait in.'),
}

/** Specification 004. The modes interactive and auto are policies of this one machine. */
export const runMachine = defineGuarded(runGuards, {
  name: 'run',
  version: 3,
  meaning: 'One job asked of an agent, from the queue to its only outcome, across restarts.',
  initial: 'queued',
  opens: 'run.submitted',

  // biome-ignore format: tables are audited by eye, so their columns line up
  states: {
    queued:       { tone: 'idle',    meaning: 'Ready for a worker.', stable: true },
    running:      { tone: 'active',  meaning: 'A worker holds it.' },
    waiting_user: { tone: 'waiting', meaning: 'It needs an answer from a person and holds no worker.', stable: true, resumable: true },
    succeeded:    { tone: 'good',    meaning: 'Finished with a result.', terminal: true },
    failed:       { tone: 'bad',     meaning: 'Finished without one, and says why.', terminal: true },
    canceled:     { tone: 'idle',    meaning: 'Stopped by request.', terminal: true },
  },

  // biome-ignore format: as above
  transitions: [
    { from: 'queued',       on: 'turn.started',                    to: 'running',      rune: 'run.moved', when: ['session_is_active'] },
    { from: 'queued',       on: 'run.canceled',                    to: 'canceled',     rune: 'run.moved' },
    { from: 'queued',       on: 'restart.reconcile_failed',        to: 'failed',       rune: 'run.moved' },
    { from: 'queued',       on: 'request',                         to: 'queued',       rune: 'run.requested',
      extension: 'A request is a move, so that nobody can end the run without having seen it.' },

    { from: 'running',      on: 'turn.needs_input',                to: 'waiting_user', rune: 'run.moved', when: ['mode_is_interactive'] },
    { from: 'running',      on: 'turn.succeeded',                  to: 'succeeded',    rune: 'run.moved' },
    { from: 'running',      on: 'turn.failed',                     to: 'failed',       rune: 'run.moved' },
    { from: 'running',      on: 'run.canceled',                    to: 'canceled',     rune: 'run.moved' },
    { from: 'running',      on: 'restart.requeued',                to: 'queued',       rune: 'run.moved',
      extension: 'A durable runtime continues a run whose worker died; it fails it only when it cannot continue.' },
    { from: 'running',      on: 'restart.reconcile_failed',        to: 'failed',       rune: 'run.moved' },
    { from: 'running',      on: 'request',                         to: 'running',      rune: 'run.requested',
      extension: 'A request is a move, so that nobody can end the run without having seen it.' },

    { from: 'waiting_user', on: 'interaction.reply.accepted',      to: 'queued',       rune: 'run.moved' },
    { from: 'waiting_user', on: 'interaction.auto_decide.timeout', to: 'queued',       rune: 'run.moved', when: ['reply_is_optional'] },
    { from: 'waiting_user', on: 'restart.preserve_waiting',        to: 'waiting_user', rune: 'run.moved', when: ['interaction_is_open', 'agent_is_configured', 'checkpoint_verifies'] },
    { from: 'waiting_user', on: 'restart.reconcile_failed',        to: 'failed',       rune: 'run.moved' },
    { from: 'waiting_user', on: 'run.canceled',                    to: 'canceled',     rune: 'run.moved' },
    { from: 'waiting_user', on: 'request',                         to: 'waiting_user', rune: 'run.requested',
      extension: 'A request is a move, so that nobody can end the run without having seen it.' },
  ],

  // biome-ignore format: as above
  forbidden: [
    { from: 'queued',       to: 'waiting_user', because: 'Only a run that a worker holds can find out that it needs an answer.' },
    { from: 'queued',       to: 'succeeded',    because: 'Nothing succeeds that no worker took.' },
    { from: 'waiting_user', to: 'running',      because: 'A reply queues the run; a worker must take it again.' },
    { from: 'waiting_user', to: 'succeeded',    because: 'A reply queues the run; the work itself succeeds.' },
    { from: 'succeeded',    to: 'running',      because: 'A run has one outcome; submit a new one.' },
    { from: 'succeeded',    to: 'canceled',     because: 'It is too late to stop what is finished.' },
    { from: 'failed',       to: 'queued',       because: 'A run has one outcome; submit a new one.' },
    { from: 'failed',       to: 'running',      because: 'A run has one outcome; submit a new one.' },
    { from: 'canceled',     to: 'queued',       because: 'A run has one outcome; submit a new one.' },
    { from: 'canceled',     to: 'running',      because: 'A run has one outcome; submit a new one.' },
  ],
})

/** A status of a run. */
export type RunStatus = StateOf<typeof runMachine>
/** A trigger of a run. */
export type RunTrigger = TriggerOf<typeof runMachine>
