import type { Progress } from './progress.ts'
import { indexOf, type RegistryIndex } from './registry/references.ts'
import type { ContextBundle } from './schemas/context-bundle.ts'
import { type ExecutionIntent, executionIntent } from './schemas/intent.ts'
import { type ExecutionPolicy, executionPolicy } from './schemas/policy.ts'
import { type PlannedStep, stepsOf } from './steps.ts'

/** What every state after CONTEXT_BUILT works from: inputs that have been checked, read once. */
export interface Given {
  readonly intent: ExecutionIntent
  readonly policy: ExecutionPolicy
  readonly index: RegistryIndex
  readonly context: ContextBundle
  readonly steps: readonly PlannedStep[]
}

const read = new WeakMap<ContextBundle, Given>()

export function givenOf({ input, artifacts }: Progress): Given {
  const context = artifacts.context_bundle
  if (context === undefined) throw new Error('There is no context before CONTEXT_BUILT.')
  const known = read.get(context)
  if (known !== undefined) return known
  const index = indexOf(input.registry)
  const intent = executionIntent.parse(input.intent)
  const given = { intent, policy: executionPolicy.parse(input.policy), index, context, steps: stepsOf(intent, index) }
  read.set(context, given)
  return given
}
