import { z } from 'zod'
import type { Agent } from './agents/define-agent.ts'
import { type Problem, pointerTo, shapeProblems } from './shape-problems.ts'
import { permissionPolicy } from './tools/policy.ts'

const duration = z.int().positive()

const isAgent = (value: unknown): value is Agent => {
  const { role, model, tools } = Object(value)
  return typeof role === 'string' && typeof Object(model).stream === 'function' && Array.isArray(tools)
}

/** What a config file may say. Everything in it is checked before anything is opened. */
const configShape = z.strictObject({
  store: z.string().min(1),
  agents: z
    .record(z.string(), z.custom<Agent>(isAgent, 'is not an agent; make one with agent({ role, model, … })'))
    .refine((agents) => Object.keys(agents).length > 0, 'names no agent; there must be at least one'),
  policy: permissionPolicy.optional(),
  secrets: z.record(z.string(), z.string()).optional(),
  settings: z
    .strictObject({
      worker: z.string().min(1),
      lease_ms: z.int().min(100),
      reply_timeout_ms: duration,
      cancel_grace_ms: duration,
      late_worker_ms: duration.nullable(),
      requeue_limit: z.int().positive(),
      error_threshold: z.int().positive(),
    })
    .partial()
    .optional(),
  max_concurrent_runs: z.int().nonnegative().optional(),
  warn: z.custom<object>((value) => typeof value === 'function', 'is not a function').optional(),
  ports: z.looseObject({}).optional(),
})

/** Everything that is wrong with a config, each with the path of the field. */
export function configProblems(config: unknown): readonly Problem[] {
  const checked = configShape.safeParse(config)
  if (checked.success) return []
  const unknown = checked.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ pointer: pointerTo([...issue.path, key]), problem: 'there is no such field' }))
      : [],
  )
  const rest = checked.error.issues.filter((issue) => issue.code !== 'unrecognized_keys')
  return [...unknown, ...shapeProblems(new z.ZodError(rest))]
}
