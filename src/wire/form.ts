import * as z from 'zod'

/** All types of form fields. */
// biome-ignore format: one line for what belongs together
export const fieldTypes = [
  'text', 'textarea', 'select', 'multiselect', 'radio', 'checkbox', 'number', 'slider', 'date', 'datetime', 'boolean',
] as const

/** The limits of one question: a person has to read it. */
const most = { name: 64, label: 500, title: 2_000, text: 20_000, fields: 100, options: 1_000, displays: 20 } as const

const label = z.string().max(most.label)
const text = z.string().max(most.text)

/** The schema of one choice of a field. */
const option = z.union([z.strictObject({ value: label, label: label.optional() }), label])

/** One field of a form. `min` and `max` bound a number, the length of a text, the count of options, or a date. */
const field = z.strictObject({
  name: z
    .string()
    .max(most.name)
    .regex(/^[a-zA-Z][a-zA-Z0-9_]*$/, 'A field name is letters, digits and underscores, and begins with a letter.'),
  type: z.enum(fieldTypes).default('text'),
  label: label.optional(),
  required: z.boolean().default(false),
  placeholder: text.optional(),
  default: z.union([text, z.number(), z.boolean(), z.array(label).max(most.options)]).optional(),
  options: z
    .array(option)
    .max(most.options)
    .optional()
    .describe('For select, multiselect, radio, and checkbox as a group.'),
  min: z.union([z.number(), label]).optional(),
  max: z.union([z.number(), label]).optional(),
  step: z.number().positive().optional(),
})

const button = z.strictObject({
  label,
  style: z.enum(['primary', 'default', 'secondary', 'danger']).default('default'),
})

const display = z.strictObject({
  type: z.enum(['table', 'ascii']),
  data: z.json().describe('For a table: a list of objects, or a list of rows. For ascii: a text.'),
})

/** The arguments with which a model hands a step to a person. One flat shape: providers refuse unions at the top. */
export const ecsInput = z.strictObject({
  type: z.enum(['form', 'confirmation', 'display']).default('form'),
  title: z.string().min(1).max(most.title).describe('What the person is asked, in a few words.'),
  description: text.optional().describe('What the person must know to decide.'),
  fields: z.array(field).max(most.fields).optional().describe('The fields of a form.'),
  displays: z.array(display).max(most.displays).optional().describe('What a display shows.'),
  actions: z.strictObject({ approve: button, edit: button, reject: button }).partial().optional(),
  dismiss_label: label.optional(),
  context: z.record(z.string(), z.json()).optional(),
})

/** A type of form fields. */
export type FieldType = (typeof fieldTypes)[number]

/** One field of a form. */
export type Field = Omit<z.output<typeof field>, 'options' | 'label'> & {
  readonly label: string
  readonly options?: readonly { readonly value: string; readonly label: string }[]
}

/** A form that an agent asks a person to fill in. */
export type EcsRequest = Omit<z.output<typeof ecsInput>, 'fields'> & { readonly fields: readonly Field[] }

/** A form as it is shown: each field and each option has a label. */
export function formOf({ fields = [], ...rest }: z.output<typeof ecsInput>): EcsRequest {
  return { ...rest, fields: fields.map(labelledField) }
}

function labelledField({ label, options, ...rest }: z.output<typeof field>): Field {
  return { ...rest, label: label ?? rest.name, ...(options !== undefined && { options: options.map(labelled) }) }
}

function labelled(given: z.output<typeof option>) {
  const { value, label = value } = typeof given === 'string' ? { value: given } : given
  return { value, label }
}
