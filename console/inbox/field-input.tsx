import type { Json } from '../../src/kernel/json.ts'
import type { Field } from '../../src/wire/form.ts'

interface Shown {
  readonly field: Field
  readonly id: string
  readonly value: Json
  readonly problem: string | undefined
  readonly set: (value: Json) => void
}

/** One field of a form, for each type that a form may have. */
export function FieldInput(shown: Shown) {
  const { field, id, problem } = shown
  const isGroup = field.type === 'radio' || field.type === 'multiselect' || (field.type === 'checkbox' && field.options)
  const label = (
    <>
      {field.label}
      {field.required && <span className="required"> (required)</span>}
    </>
  )
  const wrong = problem !== undefined && (
    <span className="wrong" id={`${id}-wrong`}>
      {problem}
    </span>
  )
  if (isGroup)
    return (
      <fieldset className="field" aria-describedby={problem === undefined ? undefined : `${id}-wrong`}>
        <legend>{label}</legend>
        <Choices {...shown} />
        {wrong}
      </fieldset>
    )
  if (field.type === 'checkbox')
    return (
      <div className="field">
        <span className="choice">
          <One {...shown} /> <label htmlFor={id}>{label}</label>
        </span>
        {wrong}
      </div>
    )
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <One {...shown} />
      {wrong}
    </div>
  )
}

function Choices({ field, id, value, set }: Shown) {
  const isMany = field.type !== 'radio'
  const chosen = isMany ? (value as readonly string[]) : []
  return (field.options ?? []).map((option) => (
    <label key={option.value} className="choice">
      <input
        type={isMany ? 'checkbox' : 'radio'}
        name={id}
        checked={isMany ? chosen.includes(option.value) : value === option.value}
        onChange={({ target }) => {
          if (!isMany) set(option.value)
          else set(target.checked ? [...chosen, option.value] : chosen.filter((other) => other !== option.value))
        }}
      />{' '}
      {option.label}
    </label>
  ))
}

const inputTypes: Readonly<Record<string, string>> = {
  number: 'number',
  slider: 'range',
  date: 'date',
  datetime: 'datetime-local',
}

function One({ field, id, value, problem, set }: Shown) {
  const attributes = {
    id,
    'aria-invalid': problem !== undefined,
    'aria-describedby': problem && `${id}-wrong`,
  } as const
  const { placeholder, options = [], min, max, step } = field
  switch (field.type) {
    case 'textarea':
      return (
        <textarea
          {...attributes}
          rows={4}
          placeholder={placeholder}
          value={String(value)}
          onChange={({ target }) => set(target.value)}
        />
      )
    case 'select':
      return (
        <select {...attributes} value={String(value)} onChange={({ target }) => set(target.value)}>
          <option value="">choose …</option>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )
    case 'checkbox':
      return (
        <input
          {...attributes}
          type="checkbox"
          checked={value === true}
          onChange={({ target }) => set(target.checked)}
        />
      )
    case 'boolean':
      return (
        <select {...attributes} value={String(value)} onChange={({ target }) => set(target.value === 'true')}>
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
      )
  }
  const type = inputTypes[field.type] ?? 'text'
  return (
    <span className="row">
      <input
        {...attributes}
        type={type}
        placeholder={placeholder}
        min={type === 'text' ? undefined : min}
        max={type === 'text' ? undefined : max}
        step={type === 'number' || type === 'range' ? (step ?? 'any') : undefined}
        value={String(value)}
        onChange={({ target }) => set(target.value)}
      />
      {type === 'range' && <output htmlFor={id}>{String(value)}</output>}
    </span>
  )
}
