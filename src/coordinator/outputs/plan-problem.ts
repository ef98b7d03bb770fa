import type { Json } from '../../kernel/json.ts'

export interface PlanProblem {
  readonly file: string
  readonly check: 'schema' | 'checksum' | 'lineage' | 'topology' | 'signature'
  readonly message: string
}

/** The JSON files of a plan, read. */
export type Documents = ReadonlyMap<string, Json>
