import { type Finding, unlessProblems } from '../reading.ts'
import type { Problem } from '../schemas/problem.ts'

export interface ContextFindings {
  readonly memory: readonly Problem[]
  readonly facts: readonly Problem[]
  readonly policy: readonly Problem[]
}

export const contextGuards = {
  memory_pack_available: ({ memory }: ContextFindings): Finding => unlessProblems(memory, 'There is a memory pack.'),
  fact_pack_available: ({ facts }: ContextFindings): Finding =>
    unlessProblems(facts, 'There is a fact pack with evidence.'),
  policy_loaded: ({ policy }: ContextFindings): Finding => unlessProblems(policy, 'The policy is loaded.'),
} as const
