import { expect } from 'vitest'
import { note, planOf } from '../scenarios/goal-cast.ts'
import { facts } from './coordinator.ts'
import { eventually } from './eventually.ts'
import { exampleQuestion } from './plans.ts'
import type { asking } from './server.ts'

type Ask = ReturnType<typeof asking>

/** A command that takes effect once, and what it answers. */
export interface Keyed {
  readonly path: string
  readonly body?: object
  /** Another content, which is refused under the same key. */
  readonly other?: object
  readonly answer: object
}

const orders = (() => {
  let last = 0
  return () => ++last
})()

async function submitted(ask: Ask, input: string): Promise<{ session_id: string; run_id: string }> {
  return (await ask('/api/runs', { body: { agent: 'pupil', input } })).json
}

async function ended(ask: Ask, input: string) {
  const run = await submitted(ask, input)
  await eventually('its end', async () =>
    (await ask(`/api/runs/${run.run_id}`)).json.is_terminal === true ? true : undefined,
  )
  return run
}

async function waiting(ask: Ask, input: string) {
  const run = await submitted(ask, input)
  const interaction_id = await eventually(
    'its question',
    async () => (await ask(`/api/runs/${run.run_id}/interaction`)).json.pending_interaction_id ?? undefined,
  )
  return { ...run, interaction_id: interaction_id as string }
}

async function goal(ask: Ask) {
  const body = { goal: 'Write', plan: planOf(note('ta')) }
  const { goal_id } = (await ask('/api/goals', { body })).json
  await eventually('its question', async () => (await ask(`/api/goals/${goal_id}`)).json.waits_for[0])
  return goal_id as string
}

const post = (ask: Ask, path: string) => ask(path, { body: {} })
const chosen = { action: 'approve', data: { choice: 'red' } }

/** For every command there is, a moment in which it can be given, and what is sent. Plans need a registry of their own. */
export const keyedRequests: Readonly<Record<string, (ask: Ask) => Promise<Keyed>>> = {
  create_session: async () => ({
    path: '/api/sessions',
    body: { agent: 'pupil' },
    other: { agent: 'pupil', title: 'Other' },
    answer: { is_repeated: true },
  }),
  submit_run: async () => ({
    path: '/api/runs',
    body: { agent: 'pupil', input: 'Hello.' },
    other: { agent: 'pupil', input: 'Bye.' },
    answer: { is_repeated: true },
  }),
  send_message: async (ask) => ({
    path: `/api/sessions/${(await ended(ask, 'Hello.')).session_id}/messages`,
    body: { input: 'More.' },
    other: { input: 'Less.' },
    answer: { is_repeated: true },
  }),
  spawn_agent: async (ask) => ({
    path: `/api/sessions/${(await ended(ask, 'Hello.')).session_id}/agents`,
    body: { agent: 'pupil' },
    other: { agent: 'pupil', budget: { tokens: 1 } },
    answer: { agent_id: expect.stringMatching(/^agt_/) },
  }),
  kill_agent: async (ask) => {
    const { run_id } = await ended(ask, 'Hello.')
    const { agent_id } = (await ask(`/api/runs/${run_id}`)).json
    const answer = { agent_id, state: 'terminated' }
    return { path: `/api/agents/${agent_id}/kill`, body: {}, other: { reason: 'x' }, answer }
  },
  pause_session: async (ask) => {
    const { session_id } = await ended(ask, 'Hello.')
    const path = `/api/sessions/${session_id}/pause`
    return { path, body: {}, other: { reason: 'x' }, answer: { session_id, state: 'paused' } }
  },
  resume_session: async (ask) => {
    const { session_id } = await ended(ask, 'Hello.')
    await post(ask, `/api/sessions/${session_id}/pause`)
    const path = `/api/sessions/${session_id}/resume`
    return { path, body: {}, other: { reset: true }, answer: { session_id, state: 'active' } }
  },
  close_session: async (ask) => {
    const { session_id } = await waiting(ask, 'form')
    const path = `/api/sessions/${session_id}/close`
    return { path, body: {}, other: { reason: 'x' }, answer: { session_id, state: 'closed' } }
  },
  archive_session: async (ask) => {
    const { session_id } = await ended(ask, 'Hello.')
    await post(ask, `/api/sessions/${session_id}/close`)
    return { path: `/api/sessions/${session_id}/archive`, body: {}, answer: { session_id, state: 'archived' } }
  },
  reply_run: async (ask) => {
    const { run_id } = await waiting(ask, 'form')
    const other = { reply: { action: 'reject' } }
    return {
      path: `/api/runs/${run_id}/interaction/reply`,
      body: { reply: chosen },
      other,
      answer: { run_id, is_repeated: true },
    }
  },
  answer: async (ask) => {
    const { interaction_id } = await waiting(ask, 'form')
    const path = `/api/interactions/${interaction_id}/answer`
    return { path, body: { reply: chosen }, other: { reply: { action: 'reject' } }, answer: { is_repeated: true } }
  },
  approve: async (ask) => {
    const { interaction_id } = await waiting(ask, `refund ${orders()}`)
    const { digest } = (await ask(`/api/interactions/${interaction_id}`)).json
    const path = `/api/interactions/${interaction_id}/approve`
    return { path, body: { digest }, other: { digest, replied_by: 'mia' }, answer: { is_repeated: true } }
  },
  deny: async (ask) => {
    const { interaction_id } = await waiting(ask, `refund ${orders()}`)
    const path = `/api/interactions/${interaction_id}/deny`
    return { path, body: {}, other: { reason: 'x' }, answer: { is_repeated: true } }
  },
  steer_run: async (ask) => {
    const { run_id } = await waiting(ask, 'form')
    const answer = { run_id, status: 'waiting_user', accepted: true }
    return { path: `/api/runs/${run_id}/steer`, body: { input: 'Faster.' }, other: { input: 'Slower.' }, answer }
  },
  interrupt_run: async (ask) => {
    const { run_id } = await waiting(ask, 'form')
    const answer = { run_id, status: 'waiting_user', accepted: true }
    return { path: `/api/runs/${run_id}/interrupt`, body: {}, other: { reason: 'x' }, answer }
  },
  cancel_run: async (ask) => {
    const { run_id } = await waiting(ask, 'form')
    const answer = { run_id, status: 'waiting_user', accepted: true }
    return { path: `/api/runs/${run_id}/cancel`, body: {}, other: { reason: 'x' }, answer }
  },
  allow_again: async (ask) => {
    const { session_id } = await ended(ask, `pay ${orders()}`)
    const { items } = (await ask(`/api/sessions/${session_id}/runes?kinds=contract.opened`)).json
    const { execution_id } = items[0]
    return { path: `/api/execution/${execution_id}/allow-again`, body: {}, answer: { execution_id } }
  },
  redact_rune: async (ask) => {
    const { session_id } = await ended(ask, 'Hello.')
    const { items } = (await ask(`/api/sessions/${session_id}/runes?kinds=run.submitted`)).json
    const { event_id } = items[0]
    const path = `/api/sessions/${session_id}/runes/${event_id}/redact`
    return { path, body: { reason: 'A slip.' }, other: { reason: 'x' }, answer: { session_id, event_id } }
  },
  start_goal: async () => ({
    path: '/api/goals',
    body: { goal: 'Write', plan: planOf(note('ta')) },
    other: { goal: 'Read', plan: planOf(note('ta')) },
    answer: {},
  }),
  approve_goal: async (ask) => {
    const goal_id = await goal(ask)
    return { path: `/api/goals/${goal_id}/approve`, body: {}, other: { reason: 'x' }, answer: { goal_id } }
  },
  reject_goal: async (ask) => {
    const goal_id = await goal(ask)
    return { path: `/api/goals/${goal_id}/reject`, body: {}, other: { reason: 'x' }, answer: { goal_id } }
  },
  cancel_goal: async (ask) => {
    const goal_id = await goal(ask)
    return { path: `/api/goals/${goal_id}/cancel`, body: {}, other: { reason: 'x' }, answer: { accepted: true } }
  },
}

/** The same for plans. */
export const keyedPlans: typeof keyedRequests = {
  submit_plan: async () => ({
    path: '/api/plans',
    body: { intent: exampleQuestion, facts },
    other: { intent: exampleQuestion, facts, answer_timeout_ms: 60_000 },
    answer: {},
  }),
  answer_plan: async (ask) => {
    const { coordination_id } = (await ask('/api/plans', { body: { intent: exampleQuestion, facts } })).json
    const path = `/api/plans/${coordination_id}/answer`
    return { path, body: { choices: { which: 'go' } }, other: { choices: {} }, answer: { coordination_id } }
  },
}
