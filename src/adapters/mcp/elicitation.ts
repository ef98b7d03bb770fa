import type { ElicitRequestFormParams, ElicitRequestParams, ElicitResult } from '@modelcontextprotocol/client'
import type { Json } from '../../kernel/json.ts'
import type { ToolContext } from '../../runtime/tools/tool.ts'

type Property = ElicitRequestFormParams['requestedSchema']['properties'][string]

/** Asks a person for a server. A local server does not name the call: with several under way it is cancelled. */
export async function elicit(
  params: ElicitRequestParams,
  underWay: ReadonlySet<ToolContext>,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const [context, ...others] = underWay
  if (context === undefined || others.length > 0 || params.mode === 'url') return { action: 'cancel' }
  const asked = await context.ask(formOf(params), signal)
  if (asked.action === 'silence') return { action: 'cancel' }
  // Only a person accepts: defaults that no person confirmed are not accepted in their name.
  if ('is_default' in asked) return { action: 'cancel' }
  if (asked.action === 'reject') return { action: 'decline' }
  return { action: 'accept', content: (asked.data ?? {}) as ElicitResult['content'] }
}

/** The server's flat schema as a form of ours. */
function formOf({ message, requestedSchema }: ElicitRequestFormParams): Json {
  const { properties, required = [] } = requestedSchema
  const title = message.trim() || 'A tool needs an answer.'
  const names = Object.keys(properties)
  if (names.length === 0) return { type: 'confirmation', title }
  const fields = names.map((name) => fieldOf(name, properties[name] as Property, required.includes(name)))
  return { type: 'form', title, fields: JSON.parse(JSON.stringify(fields)) }
}

function fieldOf(name: string, property: Property, required: boolean) {
  const common = { name, required, label: property.title, placeholder: property.description, default: property.default }
  switch (property.type) {
    case 'boolean':
      return { ...common, type: 'boolean' }
    case 'number':
    case 'integer': {
      const step = property.type === 'integer' ? 1 : undefined
      return { ...common, type: 'number', min: property.minimum, max: property.maximum, step }
    }
    case 'array':
      return { ...common, type: 'multiselect', options: optionsOf(property.items) }
    default: {
      const options = optionsOf(property)
      if (options !== undefined) return { ...common, type: 'select', options }
      const { format, minLength, maxLength } = property as { format?: string; minLength?: number; maxLength?: number }
      if (format === 'date') return { ...common, type: 'date' }
      if (format === 'date-time') return { ...common, type: 'datetime' }
      return { ...common, type: 'text', min: minLength, max: maxLength }
    }
  }
}

interface Choices {
  readonly enum?: readonly string[]
  readonly enumNames?: readonly string[]
  readonly oneOf?: readonly { const: string; title: string }[]
  readonly anyOf?: readonly { const: string; title: string }[]
}

function optionsOf(choices: object) {
  const { enum: values, enumNames = [], oneOf, anyOf } = choices as Choices
  const titled = oneOf ?? anyOf
  if (titled !== undefined) return titled.map((choice) => ({ value: choice.const, label: choice.title }))
  return values?.map((value, i) => ({ value, label: enumNames[i] ?? value }))
}
