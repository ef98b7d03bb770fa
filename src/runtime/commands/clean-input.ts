import { faults } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import type { Engine } from '../engine/engine.ts'

/** One rule for every way in: a blank text is no input, and a turn without input would do nothing. */
export function refuseMissing(what: string, input: Json | undefined): void {
  if (input === undefined || input === null || (typeof input === 'string' && input.trim() === ''))
    throw faults.input_missing({ what })
}

/** The input without secrets. A value that JSON cannot express is refused by name. */
export async function cleanInput({ redactor }: Engine, what: string, input: Json): Promise<Json> {
  refuseMissing(what, input)
  try {
    return (await redactor.cleanLong(input)).value
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw faults.input_unfit({ what, problem: error.message })
  }
}
