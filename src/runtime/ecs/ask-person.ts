import { z } from 'zod'
import type { Json } from '../../kernel/json.ts'
import type { ToolDescription } from '../model.ts'
import { ecsInput } from './shapes.ts'

/** The tool through which a model hands a step to a person. */
export const askPersonName = 'ask_person'

const { $schema, ...input_schema } = z.toJSONSchema(ecsInput, { io: 'input' }) as Record<string, Json>

/** Every agent has it unless it says otherwise; it is answered by a person and not by code. */
export const askPerson: ToolDescription = {
  name: askPersonName,
  description:
    'Asks a person and waits for the answer, which may take days. Use type form for data that only a person has, confirmation for a decision, display to show something. Give a field a default where there is a sensible one.',
  input_schema,
}
