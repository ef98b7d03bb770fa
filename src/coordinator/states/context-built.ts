import type { z } from 'zod'
import type { Json } from '../../kernel/json.ts'
import { idOf } from '../checksum.ts'
import type { FailureCause } from '../failures.ts'
import { type GuardTable, judge, unlessProblems } from '../guard-table.ts'
import { type Handler, noted } from '../handler.ts'
import { indexOf, type RegistryIndex } from '../registry/references.ts'
import { effectiveOf } from '../rules/effective.ts'
import { factPack, memoryPack } from '../schemas/context.ts'
import { executionIntent } from '../schemas/intent.ts'
import { type ExecutionPolicy, executionPolicy } from '../schemas/policy.ts'
import { type Problem, problemsOf } from '../schemas/problem.ts'
import { effects } from '../schemas/scalars.ts'

/** Reads memory, facts and policy, and combines policy and intent. */
export const contextBuilt: Handler = ({ input, run_id }, { sha256 }) => {
  const memory = load(memoryPack, input.memory, 'memory_unavailable', 'memory pack')
  const scanned = load(factPack, input.facts, 'facts_unavailable', 'fact pack')
  const policy = load(executionPolicy, input.policy, 'policy_invalid', 'policy')
  if (policy.value !== null) policy.problems.push(...unknownOperations(policy.value, indexOf(input.registry)))
  const wanted = policy.value?.min_memory_items ?? 0
  const held = memory.value?.memories.length ?? 0
  if (memory.value !== null && held < wanted)
    memory.problems.push({
      code: 'memory_unavailable',
      message: `The memory pack has ${held} items; the policy asks for ${wanted}.`,
    })

  const facts = { memory: memory.problems, facts: scanned.problems, policy: policy.problems }
  const judged = judge(contextGuards, facts, 'context_ready', 'every')
  if (memory.value === null || scanned.value === null || policy.value === null || judged.failure !== undefined)
    return { ...judged, produced: [] }

  const intent = executionIntent.parse(input.intent)
  const effective = effectiveOf(intent, policy.value, indexOf(input.registry))
  return {
    ...judged,
    produced: [
      {
        type: 'context_bundle',
        artifact: {
          bundle_id: idOf('ctx', run_id, sha256),
          schema_version: '1.0.0',
          memory_context: memory.value,
          fact_pack: scanned.value,
          policy: policy.value,
          effective,
        },
      },
    ],
    decisions: [
      {
        decision_type: 'policy_check',
        rationale: `The intent asks for ${intent.interaction.mode}, the policy for ${policy.value.mode}; the one that asks less holds.`,
        outcome: `${effective.mode}, ${effective.question_budget} questions, risk ${effective.risk}`,
      },
    ],
    audit: [
      noted('policy_enforcement', 'info', `The mode is ${effective.mode} with ${effective.question_budget} questions.`),
    ],
  }
}

type ContextFacts = Readonly<Record<'memory' | 'facts' | 'policy', readonly Problem[]>>

/** The guards of CONTEXT_BUILT. */
// biome-ignore format: tables are audited by eye
export const contextGuards: GuardTable<ContextFacts> = [
  ['memory_pack_available', ({ memory }) => unlessProblems(memory, 'There is a memory pack.'),
    ['memory_unavailable', 'The context of the plan is not complete.', 'memory_pack_unavailable', ({ memory }) => memory]],
  ['fact_pack_available', ({ facts }) => unlessProblems(facts, 'There is a fact pack with evidence.'),
    ['facts_unavailable', 'The context of the plan is not complete.', 'memory_pack_unavailable', ({ facts }) => facts]],
  ['policy_loaded', ({ policy }) => unlessProblems(policy, 'The policy is loaded.'),
    ['policy_invalid', 'The context of the plan is not complete.', 'memory_pack_unavailable', ({ policy }) => policy]],
]

function load<S extends z.ZodType>(schema: S, value: Json, code: FailureCause, what: string) {
  if (value === null) return { value: null, problems: [{ code, message: `There is no ${what}.` }] as Problem[] }
  const parsed = schema.safeParse(value)
  return parsed.success
    ? { value: parsed.data, problems: [] as Problem[] }
    : { value: null, problems: problemsOf(parsed.error, code, what) }
}

/** A name that means nothing forbids nothing: it may be the misspelt name of what must not happen. */
function unknownOperations({ constraints }: ExecutionPolicy, index: RegistryIndex): Problem[] {
  const commands = index.ids('command')
  const known = new Set<string>([...effects, ...commands])
  return constraints.forbidden_operations.flatMap((name, i) => {
    if (known.has(name)) return []
    const shown = JSON.stringify(name.length > longestShown ? `${name.slice(0, longestShown)}…`.toWellFormed() : name)
    const rest = commands.length > mostShown ? ` and ${commands.length - mostShown} more` : ''
    const message = `The policy forbids the unknown operation ${shown}. Name an effect (${effects.join(', ')}) or a command of the registry (${commands.slice(0, mostShown).join(', ') || 'it has none'}${rest}).`
    return [{ code: 'policy_invalid', message, path: `policy.constraints.forbidden_operations[${i}]` }]
  })
}

/** No id of the registry is longer. */
const longestShown = 64
/** Of the commands in a message. */
const mostShown = 40
