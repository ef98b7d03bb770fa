import type { Call } from '../../command.ts'
import { clientOptions, flag, jsonOption, type Options, text, type whereOptions } from '../../options.ts'

const inputOptions = {
  policy: text('what the operator allows; without it, people are asked and nothing is destroyed'),
  registry: text('the folder of workflows, agents, commands and rules; else ./registry'),
  facts: text('a fact pack, or a project folder to scan; else the repo_root of the intent'),
  memory: text('a memory pack; else an empty one'),
  answers: text('answers, round by round: answer packs, or maps from question to answer'),
}

const out = { out: text('write what is frozen to this folder', 'o') }

const key = { key: text('an Ed25519 key (PEM): what is frozen is signed with it, what is verified must be') }

/** Options of `plan INTENT`. */
export const makeOptions = {
  ...inputOptions,
  recovers: text('the plan that this one takes the place of: its id in the store, or its folder without one'),
  ...out,
  ...key,
  timeout: text('seconds after which the defaults stand for answers; else it waits for ever'),
  ...clientOptions,
}

/** Options of `plan answer`. */
export const answerOptions = {
  as: text('the name that is recorded with the answers'),
  ...out,
  ...clientOptions,
}

/** Options of `plan show`. */
export const showOptions = {
  moves: flag('every move with its time, how long it took, and the guards'),
  ...out,
  ...clientOptions,
}

/** Options of `plan verify`. */
export const verifyOptions = { ...key, ...jsonOption }

/** Options of `plan explain`. */
export const explainOptions = { ...inputOptions, ...clientOptions }

type Reading<O extends Options> = Pick<Call<O>, 'words' | 'values' | 'io' | 'refuse'>

/** A call that makes a plan from files. */
export type InputCall = Reading<typeof inputOptions & Pick<typeof makeOptions, 'recovers'>>

/** A call that opens the plans of a store. */
export type StoreCall = Reading<typeof whereOptions & Pick<typeof makeOptions, 'registry' | 'policy' | 'key'>>

/** A call that reports where a plan stands. */
export type ReportCall = Call<Omit<typeof answerOptions, 'as'>>
