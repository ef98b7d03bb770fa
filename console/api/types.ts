import type { Json } from '../../src/kernel/json.ts'
import type { MachineName } from '../../src/machines/all.ts'

/** What lists answer with. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

export interface Legal {
  readonly trigger: string
  readonly to: string
}

export interface Spent {
  readonly used: number
  readonly limit: number | null
}

export type JsonObject = Readonly<Record<string, Json>>

export type { Json, MachineName }
