import type { Call } from '../../command.ts'
import { clientOptions, jsonOption, type Options, type whereOptions } from '../../options.ts'

const inputOptions = {
  policy: {
    type: 'string',
    summary: 'what the operator allows; without it, people are asked and nothing is destroyed',
  },
  registry: { type: 'string', summary: 'the folder of workflows, agents, commands and rules; else ./registry' },
  facts: { type: 'string', summary: 'a fact pack, or a project folder to scan; else the repo_root of the intent' },
  memory: { type: 'string', summary: 'a memory pack; else an empty one' },
  answers: { type: 'string', summary: 'answers, round by round: answer packs, or maps from question to answer' },
} as const satisfies Options

const out = {
  out: { type: 'string', short: 'o', summary: 'write what is frozen to this folder' },
} as const satisfies Options

const key = {
  key: {
    type: 'string',
    summary: 'an Ed25519 key (PEM): what is frozen is signed with it, what is verified must be',
  },
} as const satisfies Options

/** Options of `plan INTENT`. */
export const makeOptions = {
  ...inputOptions,
  recovers: {
    type: 'string',
    summary: 'the plan that this one takes the place of: its id in the store, or its folder without one',
  },
  ...out,
  ...key,
  timeout: { type: 'string', summary: 'seconds after which the defaults stand for answers; else it waits for ever' },
  ...clientOptions,
} as const satisfies Options

/** Options of `plan answer`. */
export const answerOptions = {
  as: { type: 'string', summary: 'the name that is recorded with the answers' },
  ...out,
  ...clientOptions,
} as const satisfies Options

/** Options of `plan show`. */
export const showOptions = {
  moves: { type: 'boolean', summary: 'every move with its time, how long it took, and the guards' },
  ...out,
  ...clientOptions,
} as const satisfies Options

/** Options of `plan verify`. */
export const verifyOptions = { ...key, ...jsonOption } as const satisfies Options

/** Options of `plan explain`. */
export const explainOptions = { ...inputOptions, ...clientOptions } as const satisfies Options

type Reading<O extends Options> = Pick<Call<O>, 'words' | 'values' | 'io' | 'refuse'>

/** A call that makes a plan from files. */
export type InputCall = Reading<typeof inputOptions & Pick<typeof makeOptions, 'recovers'>>

/** A call that opens the plans of a store. */
export type StoreCall = Reading<typeof whereOptions & Pick<typeof makeOptions, 'registry' | 'policy' | 'key'>>

/** A call that reports where a plan stands. */
export type ReportCall = Call<Omit<typeof answerOptions, 'as'>>
