import { defineGuarded, finding, type StateOf } from '../kernel/machine.ts'

const interactionGuards = {
  deadline_applies: ({ is_due, is_settlement, strict }: Record<'is_due' | 'is_settlement' | 'strict', boolean>) =>
    is_settlement
      ? { holds: false, because: 'No deadline can say whether an action happened.' }
      : strict
        ? { holds: false, because: 'The run waits for a reply however long that takes.' }
        : finding(is_due, 'Its deadline has passed.', 'Its deadline has not passed.'),
  outcome_is_known: ({ is_unknown }: { is_unknown: boolean }) =>
    finding(!is_unknown, 'It asks about no unknown outcome.', 'It asks about an outcome that is still unknown.'),
}

/** Our own: no specification draws it, yet reply, deadline and restart race for it, and exactly one may win. */
export const interactionMachine = defineGuarded(interactionGuards, {
  name: 'interaction',
  version: 2,
  meaning: 'One thing that waits for someone: an approval, a form, a question, a pack of them, or a settlement.',
  initial: 'open',
  opens: 'interaction.opened',
  extension: 'Reply, deadline and restart race for it, and no lifecycle may bypass transition().',

  // biome-ignore format: tables are audited by eye, so their columns line up
  states: {
    open:      { tone: 'waiting', meaning: 'It waits for an answer.', stable: true, resumable: true },
    answered:  { tone: 'good',    meaning: 'Someone answered; nobody else can.', terminal: true },
    expired:   { tone: 'idle',    meaning: 'The deadline passed first; what silence does has been done.', terminal: true },
    withdrawn: { tone: 'idle',    meaning: 'The question is moot: what it concerned is over.', terminal: true },
  },

  // biome-ignore format: as above
  transitions: [
    { from: 'open', on: 'answer',   to: 'answered',  rune: 'interaction.answered' },
    { from: 'open', on: 'expire',   to: 'expired',   rune: 'interaction.expired', when: ['deadline_applies'] },
    { from: 'open', on: 'withdraw', to: 'withdrawn', rune: 'interaction.withdrawn', when: ['outcome_is_known'] },
  ],

  // biome-ignore format: as above
  forbidden: [
    { from: 'answered',  to: 'open',      because: 'An answer is final; what follows from it may ask again.' },
    { from: 'answered',  to: 'expired',   because: 'The answer came first.' },
    { from: 'answered',  to: 'withdrawn', because: 'The answer came first.' },
    { from: 'expired',   to: 'open',      because: 'A passed deadline does not come back.' },
    { from: 'expired',   to: 'answered',  because: 'The deadline came first.' },
    { from: 'expired',   to: 'withdrawn', because: 'The deadline came first.' },
    { from: 'withdrawn', to: 'open',      because: 'What it concerned is over.' },
    { from: 'withdrawn', to: 'answered',  because: 'What it concerned is over; an answer would reach nobody.' },
    { from: 'withdrawn', to: 'expired',   because: 'What it concerned is over.' },
  ],
})

/** A state of an interaction. */
export type InteractionState = StateOf<typeof interactionMachine>
