import type { Json } from '../../src/kernel/json.ts'
import type { AgentCard } from '../../src/wire/run.ts'
import { type Answer, get, post } from './request.ts'

/** Submits a run. */
export const submitRun = (agent: string, input: Json) =>
  post<{ session_id: string; run_id: string }>('/api/runs', { agent, input })

/** Gives a run new input. */
export const steerRun = (run_id: string, input: Json): Promise<Answer<unknown>> =>
  post(`/api/runs/${encodeURIComponent(run_id)}/steer`, { input })

/** Interrupts or cancels a run. */
export const stopRun = (run_id: string, verb: 'interrupt' | 'cancel'): Promise<Answer<unknown>> =>
  post(`/api/runs/${encodeURIComponent(run_id)}/${verb}`)

/** Finds the session of a run. */
export const findRun = (run_id: string) => get<{ session_id: string }>(`/api/runs/${encodeURIComponent(run_id)}`)

/** Lists the declared agents. */
export const listAgents = (signal?: AbortSignal) => get<{ items: readonly AgentCard[] }>('/api/agents', {}, signal)
