import { type FormEvent, useState } from 'react'
import type { Json, Problem } from '../../src/kernel/json.ts'
import type { EcsRequest } from '../../src/wire/form.ts'
import { useAct } from '../parts/act.tsx'
import { JsonBlock } from '../parts/json.tsx'
import { type Answering, answer, Refused } from './answering.tsx'
import { Displays } from './displays.tsx'
import { FieldInput } from './field-input.tsx'
import { firstValue, formIn, sentValue } from './fields.ts'

type Action = keyof NonNullable<EcsRequest['actions']>

/** The label of the button that sends the answer. */
const sends: { readonly [T in EcsRequest['type']]: string } = { form: 'Send', confirmation: 'Confirm', display: 'Seen' }

/** A step that an agent handed to a person: a form, a confirmation, or something to look at. */
export function EcsForm({ asked, isOpen, isInert, done }: Answering) {
  const { request, interaction_id } = asked
  const form = formIn(request)
  const fields = form?.fields ?? []
  const [values, setValues] = useState<Readonly<Record<string, Json>>>(() =>
    Object.fromEntries(fields.map((field) => [field.name, firstValue(field)])),
  )
  const [reason, setReason] = useState('')
  const { isBusy, problem, run } = useAct()
  const wrong = problemsOf(problem?.details)

  const say = (action: Action) => {
    const data = Object.fromEntries(
      fields.flatMap((field) => {
        const value = sentValue(field, values[field.name] ?? '')
        return value === undefined ? [] : [[field.name, value]]
      }),
    )
    const said = action === 'reject' ? (reason.trim() === '' ? {} : { reason: reason.trim() }) : { data }
    void run(() => answer(interaction_id, { action, ...said }), done)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    say('approve')
  }
  if (form === undefined) return <JsonBlock value={request} name="what is asked" />
  const named = labelsOf(form)
  return (
    <form className="ecs" onSubmit={submit} noValidate>
      {form.description !== undefined && <p>{form.description}</p>}
      <Displays displays={form.displays} />
      {isOpen && (
        <>
          {fields.map((field) => (
            <FieldInput
              key={field.name}
              field={field}
              id={`${interaction_id}-${field.name}`}
              value={values[field.name] ?? ''}
              problem={wrong.get(`/data/${field.name}`)}
              set={(value) => setValues({ ...values, [field.name]: value })}
            />
          ))}
          {wrong.size === 0 ? (
            <Refused problem={problem} done={done} />
          ) : (
            <p className="wrong" role="alert">
              Nothing was sent. See the problem beside each field.
            </p>
          )}
          <div className="row">
            <button type="submit" className="primary" disabled={isInert || isBusy}>
              {sends[form.type]}
            </button>
            {form.type !== 'display' && (
              <>
                <button type="button" disabled={isInert || isBusy} onClick={() => say('reject')}>
                  Refuse
                </button>
                <label className="grow">
                  Reason, if you refuse
                  <input value={reason} onChange={({ target }) => setReason(target.value)} />
                </label>
              </>
            )}
          </div>
          {named.length > 0 && <p className="faint">In the words of the agent: {named.join(', ')}.</p>}
        </>
      )}
    </form>
  )
}

/** The agent's names for the answers, quoted next to the buttons. The buttons keep labels of the console. */
function labelsOf({ actions = {}, dismiss_label }: EcsRequest): readonly string[] {
  const named = Object.entries(actions).map(([action, given]) => `${action} “${given?.label}”`)
  return dismiss_label === undefined ? named : [...named, `seen “${dismiss_label}”`]
}

/** The fields that do not fit, by where they stand in the answer. */
function problemsOf(details: Readonly<Record<string, unknown>> | undefined): ReadonlyMap<string, string> {
  const problems = (details?.problems ?? []) as readonly Problem[]
  return new Map(problems.map(({ pointer, problem }) => [pointer, problem]))
}
