import type { Call } from '../../command.ts'
import { clientOptions, flag, jsonOption, type Options, text, type whereOptions } from '../../options.ts'

const inputOptions = {
  policy: text('the policy file. Default: ask people, allow nothing destructive'),
  registry: text('the folder of workflows, agents, commands and rules. Default: ./registry'),
  facts: text('a fact pack, or a project folder to scan. Default: the repo_root of the intent'),
  memory: text('a memory pack. Default: an empty one'),
  answers: text('answers, round by round: answer packs, or maps from question to answer'),
}

const out = { out: text('the folder for the frozen files', 'o') }

const key = { key: text('an Ed25519 key (PEM): signs the frozen plan, or must have signed the plan to verify') }

/** Options of `plan INTENT`. */
export const makeOptions = {
  ...inputOptions,
  recovers: text('the plan to replace: its id, or its folder if there is no store'),
  ...out,
  ...key,
  timeout: text('seconds until unanswered questions get their defaults. Default: no limit'),
  ...clientOptions,
}

/** Options of `plan answer`. */
export const answerOptions = {
  as: text('the name to record with the answers'),
  ...out,
  ...clientOptions,
}

/** Options of `plan show`. */
export const showOptions = {
  moves: flag('every move with its time, its duration and its guards'),
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
