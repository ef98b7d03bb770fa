import type { JsonObject } from '../../src/kernel/json.ts'
import { type InteractionCard, interactionEndpoints } from '../../src/wire/interaction.ts'
import { ask, type Problem } from '../api/request.ts'
import { Copy } from '../parts/copy.tsx'
import { Trouble } from '../parts/states.tsx'

/** The properties of every kind of answer: the question, whether it is open, and whether buttons are active yet. */
export interface Answering {
  readonly asked: InteractionCard
  readonly isOpen: boolean
  readonly isInert: boolean
  /** Keyboard shortcuts apply to this question. */
  readonly isSelected: boolean
  readonly done: () => void
}

/** Answers a form or a question. */
export const answer = (interaction_id: string, reply: JsonObject) =>
  ask(interactionEndpoints.answer, { params: { interaction_id }, body: { reply } })

/** The refusal of an answer: another reply was first, or another reason. */
export function Refused({ problem, done }: { problem: Problem | undefined; done: () => void }) {
  if (problem === undefined) return null
  if (problem.status !== 409) return <Trouble problem={problem} />
  return (
    <div className="trouble" role="alert">
      <strong>Another reply was first.</strong> {problem.detail} Your answer had no effect.
      <button type="button" onClick={done}>
        Show the outcome
      </button>
    </div>
  )
}

/** A digest with its name. */
export function Digest({ name, value }: { name: string; value: string }) {
  return (
    <span className="digest">
      {name} <code>{value}</code> <Copy text={value} label="copy" title={`Copy ${name}`} />
    </span>
  )
}
