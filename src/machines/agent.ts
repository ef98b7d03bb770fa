import { defineGuarded, finding } from '../kernel/machine.ts'

const agentGuards = {
  force: ({ is_forced }: { is_forced: boolean }) =>
    finding(is_forced, 'It is stopped by force.', 'It is in a turn and may only be stopped by force.'),
}

/** Specification 002, Agent Lifecycle. Its moves into and out of `running_turn` are carried by the runes of the turn. */
export const agentMachine = defineGuarded(agentGuards, {
  name: 'agent',
  version: 2,
  meaning: 'An actor in a session, with a role, a model, tools and a budget of its own.',
  initial: 'spawning',
  opens: 'agent.spawning',

  // biome-ignore format: tables are audited by eye, so their columns line up
  states: {
    spawning:     { tone: 'active', meaning: 'Being set up; it cannot be given work yet.' },
    idle:         { tone: 'idle',   meaning: 'Ready for work.', stable: true },
    running_turn: { tone: 'active', meaning: 'In a turn; it has at most one.' },
    terminated:   { tone: 'idle',   meaning: 'Stopped for good; its resources are released.', terminal: true },
    failed:       { tone: 'bad',    meaning: 'It could not be set up.', terminal: true },
  },

  // biome-ignore format: as above
  transitions: [
    { from: 'spawning',     on: 'init_complete',    to: 'idle',         rune: 'agent.ready' },
    { from: 'spawning',     on: 'init_error',       to: 'failed',       rune: 'agent.failed' },

    { from: 'idle',         on: 'turn_assigned',    to: 'running_turn', rune: 'turn.started',     carried: true },
    { from: 'idle',         on: 'kill',             to: 'terminated',   rune: 'agent.terminated' },
    { from: 'idle',         on: 'parent_closed',    to: 'terminated',   rune: 'agent.terminated' },
    { from: 'idle',         on: 'budget_exhausted', to: 'terminated',   rune: 'agent.terminated' },

    { from: 'running_turn', on: 'turn_completed',   to: 'idle',         rune: 'turn.completed',   carried: true },
    { from: 'running_turn', on: 'turn_interrupted', to: 'idle',         rune: 'turn.interrupted', carried: true },
    { from: 'running_turn', on: 'turn_error',       to: 'idle',         rune: 'turn.error',       carried: true },
    { from: 'running_turn', on: 'kill',             to: 'terminated',   rune: 'agent.terminated', when: ['force'] },
    { from: 'running_turn', on: 'crash',            to: 'terminated',   rune: 'agent.terminated',
      extension: 'INV-AGENT-SUPERVISED: an agent that crashes in a turn must end without harming the others.' },
  ],

  // biome-ignore format: as above
  forbidden: [
    { from: 'spawning',     to: 'running_turn', because: 'An agent is ready before it is given work.' },
    { from: 'running_turn', to: 'failed',       because: 'failed means it could not be set up; an agent that breaks later is terminated.' },
    { from: 'terminated',   to: 'idle',         because: 'A stopped agent stays stopped; spawn a new one.' },
    { from: 'terminated',   to: 'running_turn', because: 'A stopped agent takes no turns; spawn a new one.' },
    { from: 'failed',       to: 'idle',         because: 'An agent that could not be set up is replaced, not repaired.' },
    { from: 'failed',       to: 'running_turn', because: 'An agent that could not be set up takes no turns.' },
  ],
})
