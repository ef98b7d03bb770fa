import { z } from 'zod'

/** What operations answer with, where several of them answer alike. */
export const nothing = z.strictObject({})

export const topologyShape = z.object({
  machine: z.string(),
  version: z.int(),
  meaning: z.string(),
  initial_status: z.string(),
  nodes: z
    .array(
      z.object({
        status: z.string(),
        meaning: z.string(),
        is_terminal: z.boolean(),
        is_initial: z.boolean(),
        is_stable: z.boolean(),
        is_resumable: z.boolean(),
      }),
    )
    .readonly(),
  edges: z
    .array(
      z.object({
        from_status: z.string(),
        to_status: z.string(),
        trigger: z.string(),
        guards: z.array(z.string()).readonly(),
        rune: z.string().nullable(),
        extension: z.string().optional(),
      }),
    )
    .readonly(),
  forbidden_transitions: z
    .array(z.object({ from_status: z.string(), to_status: z.string(), reason: z.string() }))
    .readonly(),
  terminal_statuses: z.array(z.string()).readonly(),
  resumable_statuses: z.array(z.string()).readonly(),
})
