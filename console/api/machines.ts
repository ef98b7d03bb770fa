import { get } from './request.ts'

export interface Occupancy {
  readonly machines: readonly {
    readonly machine: string
    readonly states: readonly { readonly state: string; readonly count: number; readonly is_capped: boolean }[]
  }[]
}

export const getOccupancy = (signal?: AbortSignal) => get<Occupancy>('/api/occupancy', {}, signal)
