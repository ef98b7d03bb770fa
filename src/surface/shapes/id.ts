import { z } from 'zod'

/** The names that we give. Nothing else is looked up: no store, no header and no path sees what a stranger thought of. */
export const id = z.string().regex(/^[\w.:-]{1,200}$/, 'An id is 1 to 200 letters, digits and _ . : - only.')
