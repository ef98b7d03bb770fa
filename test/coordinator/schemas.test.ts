import { describe, expect, test } from 'vitest'
import { listArtifacts } from '../../src/coordinator/outputs/lineage.ts'
import { coordinatorJsonSchemas, coordinatorSchemas } from '../../src/coordinator/schemas/all.ts'
import { executionPolicy } from '../../src/coordinator/schemas/context.ts'
import {
  answering,
  facts,
  intentOf,
  memory,
  openQuestion,
  plan,
  policy,
  policyWith,
  registryOf,
} from '../support/coordinator.ts'

describe('Coordinator: schemas', () => {
  test('every shape is exported as JSON Schema with its required members', () => {
    const exported = coordinatorJsonSchemas()
    expect(Object.keys(exported)).toEqual(Object.keys(coordinatorSchemas))
    for (const schema of Object.values(exported))
      expect(schema).toMatchObject({ $schema: 'https://json-schema.org/draft/2020-12/schema' })
    const intent = exported.execution_intent as { required: string[]; additionalProperties: boolean }
    expect(intent.additionalProperties).toBe(false)
    expect(intent.required.toSorted()).toEqual([
      'audit',
      'budgets',
      'constraints',
      'created_at',
      'evidence_refs',
      'id',
      'interaction',
      'lineage',
      'objective',
      'planned_commands',
      'risk',
      'scope',
      'selected_agents',
      'selected_workflows',
      'status',
      'title',
      'type',
      'version',
    ])
  })

  test('every input and every artifact of a plan fits its schema', () => {
    const intent = intentOf((i) => ({ ...i, open_questions: [openQuestion('which_way')] }))
    const done = plan({ intent }, [answering(plan({ intent }).waits_for, { which_way: 'go' })])
    const given = {
      execution_intent: intent,
      execution_policy: policy,
      registry_snapshot: registryOf(),
      memory_pack: memory,
      fact_pack: facts,
      run_tape: done.tape,
    }
    for (const [name, value] of Object.entries(given))
      expect(coordinatorSchemas[name as keyof typeof given].safeParse(value).error).toBeUndefined()
    for (const { type, artifact } of listArtifacts(done.artifacts)) {
      const name = type === 'execution_graph_draft' ? 'execution_graph' : type
      expect(coordinatorSchemas[name].safeParse(artifact).error).toBeUndefined()
      expect(coordinatorSchemas[name].safeParse({ ...(artifact as object), stray: 1 }).success).toBe(false)
    }
  })

  test('a policy fills in its defaults, and full_auto has no questions even if it allows some', () => {
    const read = (more: object) => executionPolicy.parse(policyWith(more))
    expect(read({}).question_budget).toBe(999)
    expect(read({ mode: 'semi_auto' }).question_budget).toBe(3)
    expect(read({ mode: 'full_auto', question_budget: 7 }).question_budget).toBe(0)
    expect(
      [read({}), read({ risk_profile: 'aggressive_safe' }), read({ risk_profile: 'aggressive' })].map(
        ({ constraints }) => constraints.max_files_per_commit,
      ),
    ).toEqual([5, 50, 999])
  })
})
