import * as z from 'zod'
import { count, id, listOf } from './common.ts'
import { endpoint } from './endpoint.ts'

/** A machine as its declaration has it. */
const topologyShape = z.object({
  machine: z.string(),
  version: z.int(),
  meaning: z.string(),
  initial_status: z.string(),
  nodes: listOf({
    status: z.string(),
    meaning: z.string(),
    is_terminal: z.boolean(),
    is_initial: z.boolean(),
    is_stable: z.boolean(),
    is_resumable: z.boolean(),
  }),
  edges: listOf({
    from_status: z.string(),
    to_status: z.string(),
    trigger: z.string(),
    guards: z.array(z.string()).readonly(),
    rune: z.string().nullable(),
    extension: z.string().exactOptional(),
  }),
  forbidden_transitions: listOf({ from_status: z.string(), to_status: z.string(), reason: z.string() }),
  terminal_statuses: z.array(z.string()).readonly(),
  resumable_statuses: z.array(z.string()).readonly(),
})

/** The state of one subject, and its possible moves. */
export const subjectShape = z.object({
  machine: z.string(),
  subject_id: z.string(),
  state: z.string(),
  meaning: z.string(),
  since: z.int(),
  /** The rune that brought it there. */
  event_id: z.int(),
  allowed: listOf({ trigger: z.string(), to: z.string(), needs: z.array(z.string()).readonly() }),
  forbidden: listOf({ to: z.string(), because: z.string() }),
})
/** The state of one subject, and its possible moves. */
export type SubjectCard = z.infer<typeof subjectShape>

/** The number of subjects in each non-terminal state. */
const occupancyShape = z.object({
  machines: listOf({
    machine: z.string(),
    states: listOf({
      state: z.string(),
      count: z.int(),
      /** There are at least as many. */
      is_capped: z.boolean(),
      oldest_since: z.int().nullable(),
    }),
  }),
})

/** The endpoints of the machines and their subjects. */
export const machineEndpoints = {
  listMachines: endpoint('list_machines', 'GET /api/machines', {
    returns: z.array(z.object({ name: z.string(), version: z.int(), meaning: z.string() })),
  }),
  getMachine: endpoint('get_machine', 'GET /api/machines/{name}', { returns: topologyShape }),
  getTopology: endpoint('get_topology', 'GET /api/execution/topology', { returns: topologyShape }),
  getOccupancy: endpoint('get_occupancy', 'GET /api/occupancy', { returns: occupancyShape }),
  findSubjects: endpoint('find_subjects', 'GET /api/subjects', {
    query: z.strictObject({ prefix: id, limit: count(z.int().min(1).max(100)).prefault(20) }),
    returns: z.object({
      items: z.array(
        z.object({
          subject_id: z.string(),
          machine: z.string(),
          state: z.string(),
          session_id: z.string(),
          at: z.int(),
        }),
      ),
    }),
  }),
}
