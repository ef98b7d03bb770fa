import { defineGuarded, finding, type StateOf } from '../kernel/machine.ts'

const turnGuards = {
  input: ({ is_first, is_steered, messages }: { is_first: boolean; is_steered: boolean; messages: number }) =>
    is_first
      ? { holds: true, because: 'It is the first turn of its run and begins with what was submitted.' }
      : is_steered
        ? { holds: true, because: 'It begins with input that was sent to the run.' }
        : finding(messages > 0, 'Its input is in the dialogue already.', 'There is nothing to answer.'),
  no_tool_calls: ({ open_calls }: { open_calls: number }) =>
    finding(open_calls === 0, 'No call is open.', `${open_calls} of its calls are open.`),
  continue: ({ ended_by }: { ended_by: string | null }) =>
    finding(ended_by === null, 'The model gets the results.', `${ended_by} ended the turn.`),
  no_more_calls: ({ ended_by }: { ended_by: string | null }) =>
    finding(ended_by !== null, `${ended_by} ended the turn with its result.`, 'No tool ended the turn.'),
  unrecoverable: ({ retryable }: { retryable: boolean }) =>
    finding(!retryable, 'The error says that no retry helps.', 'The error can be retried.'),
}

/** Specification 002, TurnEngine. A turn that ended is idle again: the fold of its last rune finalizes it. */
export const turnMachine = defineGuarded(turnGuards, {
  name: 'turn',
  version: 2,
  meaning: 'One loop of an agent with its model: stream, run tools, stream again, until nothing more is called.',
  initial: 'idle',
  opens: null,
  endless: 'The engine of an agent rests in idle between turns; the agent has the end, not the turn.',

  // biome-ignore format: tables are audited by eye, so their columns line up
  states: {
    idle:           { tone: 'idle',   meaning: 'No turn is under way.', stable: true },
    streaming:      { tone: 'active', meaning: 'The model is answering.' },
    tool_executing: { tone: 'active', meaning: 'The calls of the answer are being carried out or waited for.' },
    completed:      { tone: 'good',   meaning: 'The model had nothing more to call.' },
    interrupted:    { tone: 'idle',   meaning: 'Stopped at a safe boundary; what was said so far is kept.' },
    error:          { tone: 'bad',    meaning: 'The stream or a tool broke in a way the turn cannot survive.' },
  },

  // biome-ignore format: as above
  transitions: [
    { from: 'idle',           on: 'start_turn',          to: 'streaming',      when: ['input'],         rune: 'turn.started' },

    { from: 'streaming',      on: 'tool_calls_received', to: 'tool_executing',                          rune: 'turn.tool_calls_received' },
    { from: 'streaming',      on: 'response_done',       to: 'completed',      when: ['no_tool_calls'], rune: 'turn.completed' },
    { from: 'streaming',      on: 'interrupt',           to: 'interrupted',                             rune: 'turn.interrupted' },
    { from: 'streaming',      on: 'steer',               to: 'interrupted',                             rune: 'turn.interrupted' },
    { from: 'streaming',      on: 'stream_error',        to: 'error',                                   rune: 'turn.error' },

    { from: 'tool_executing', on: 'tools_finished',      to: 'streaming',      when: ['continue'],      rune: 'turn.tools_finished' },
    { from: 'tool_executing', on: 'tools_finished',      to: 'completed',      when: ['no_more_calls'], rune: 'turn.completed' },
    { from: 'tool_executing', on: 'interrupt',           to: 'interrupted',                             rune: 'turn.interrupted' },
    { from: 'tool_executing', on: 'tool_crash',          to: 'error',          when: ['unrecoverable'], rune: 'turn.error' },

    { from: 'interrupted',    on: 'turn_finalized',      to: 'idle',                                    rune: null },
    { from: 'completed',      on: 'turn_finalized',      to: 'idle',                                    rune: null },
    { from: 'error',          on: 'turn_finalized',      to: 'idle',                                    rune: null },
  ],

  // biome-ignore format: as above
  forbidden: [
    { from: 'idle',           to: 'tool_executing', because: 'Only an answer of the model can call tools.' },
    { from: 'idle',           to: 'completed',      because: 'A turn begins before it ends.' },
    { from: 'streaming',      to: 'idle',           because: 'A turn says how it ended before the engine rests.' },
    { from: 'tool_executing', to: 'idle',           because: 'A turn says how it ended before the engine rests.' },
    { from: 'completed',      to: 'streaming',      because: 'A finished turn stays finished; the next input opens a new one.' },
    { from: 'interrupted',    to: 'streaming',      because: 'Steered input opens a new turn; the old one keeps what it had said.' },
    { from: 'error',          to: 'streaming',      because: 'A retry is a new turn, so that the failed one stays readable.' },
  ],
})

/** A state of a turn. */
export type TurnState = StateOf<typeof turnMachine>
