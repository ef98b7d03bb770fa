import type { Occupancy } from '../../src/wire/machine.ts'
import { get } from './request.ts'

/** Counts the subjects in each state. */
export const getOccupancy = (signal?: AbortSignal) => get<Occupancy>('/api/occupancy', {}, signal)
