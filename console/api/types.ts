import type { Json } from '../../src/kernel/json.ts'
import type { MachineName } from '../../src/machines/all.ts'

/** What lists answer with. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

/** Where one live machine is. What may happen to it follows from its declaration. */
export interface SpineEntry {
  readonly machine: MachineName
  readonly subject_id: string
  readonly state: string
  readonly since: number
}

export type JsonObject = Readonly<Record<string, Json>>

export type { Json }
