import { z } from 'zod'
import type { Json } from '../kernel/json.ts'

/**
 * Any JSON value. The schema takes it as it is: every payload passes through canonical JSON before it is stored, which
 * refuses what is not JSON and names the place, so walking it here as well would only cost time.
 */
export const jsonValue = z.custom<Json>((value) => value !== undefined)

/** The schema of a JSON object. */
export const jsonObject = z.record(z.string(), jsonValue)
