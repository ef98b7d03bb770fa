/** How a state looks: a shape, a word and a colour, since colour alone tells some people nothing. */
export type Family =
  | 'not_started'
  | 'moving'
  | 'person'
  | 'machine'
  | 'good'
  | 'bad'
  | 'refused'
  | 'alarm'
  | 'stopped'
  | 'unknown'

export const shapes: { readonly [F in Family]: { readonly sign: string; readonly meaning: string } } = {
  not_started: { sign: '○', meaning: 'not started' },
  moving: { sign: '●', meaning: 'moving' },
  person: { sign: '⬡', meaning: 'waits for a person' },
  machine: { sign: '◔', meaning: 'waits for something else' },
  good: { sign: '✓', meaning: 'ended well' },
  bad: { sign: '✕', meaning: 'ended badly' },
  refused: { sign: '⊘', meaning: 'refused' },
  alarm: { sign: '!', meaning: 'alarm' },
  stopped: { sign: '■', meaning: 'stopped' },
  unknown: { sign: '±', meaning: 'outcome unknown' },
}

const families: Readonly<Record<string, Readonly<Record<string, Family>>>> = {
  session: { created: 'not_started', active: 'moving', paused: 'person', suspended: 'machine', closing: 'moving' },
  run: { queued: 'not_started', running: 'moving', waiting_user: 'person', succeeded: 'good', failed: 'bad' },
  agent: { spawning: 'not_started', idle: 'not_started', running_turn: 'moving', failed: 'bad' },
  turn: { idle: 'not_started', streaming: 'moving', tool_executing: 'moving', completed: 'good', error: 'bad' },
  tool: {
    pending_call: 'not_started',
    awaiting_approval: 'person',
    executing: 'moving',
    denied: 'refused',
    completed_result: 'good',
    error_result: 'bad',
    timeout_result: 'bad',
  },
  contract: {
    pending: 'not_started',
    running: 'moving',
    waiting: 'person',
    completed: 'good',
    failed: 'bad',
    rejected: 'refused',
  },
  interaction: { open: 'person', answered: 'good', expired: 'machine' },
  coordination: {
    RECEIVED: 'not_started',
    AWAITING_ANSWERS: 'person',
    DONE: 'good',
    BLOCKED: 'refused',
    ABORTED: 'alarm',
  },
  goal: { goal_received: 'not_started', blocked: 'machine', goal_met: 'good' },
  task: { pending: 'not_started', completed: 'good', failed: 'bad', blocked: 'machine', skipped: 'stopped' },
}

const endings = new Set(['canceled', 'cancelled', 'cancelled_result', 'closed', 'archived', 'stopped', 'interrupted'])

export function familyOf(machine: string, state: string): Family {
  const known = families[machine]?.[state]
  if (known !== undefined) return known
  return endings.has(state) || state === 'terminated' || state === 'withdrawn' ? 'stopped' : 'moving'
}
