import type { Occupancy } from '../../src/wire/machine.ts'
import { get } from './request.ts'

export const getOccupancy = (signal?: AbortSignal) => get<Occupancy>('/api/occupancy', {}, signal)
