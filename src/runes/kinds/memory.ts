import { z } from 'zod'
import { stateNames } from '../../kernel/machine.ts'
import { contractMachine } from '../../machines/contract.ts'
import { deciders } from './contract.ts'

/** The runes about memory. */
export const memoryKinds = {
  'memory.committed': z.strictObject({
    type: z.literal('execution_fact'),
    execution_id: z.string(),
    action_type: z.enum(['tool_call', 'ecs_request']),
    action_summary: z.string(),
    final_status: z.enum(stateNames(contractMachine)),
    irreversible: z.boolean(),
    duration_ms: z.int().nonnegative(),
    result_summary: z.string().nullable(),
    error_summary: z.string().nullable(),
    /** As in the last move of the contract that has it. Absent where nothing had to be decided. */
    decided_by: z.enum(deciders).exactOptional(),
  }),
}
