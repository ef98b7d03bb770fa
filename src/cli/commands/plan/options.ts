import { whereOptions } from '../../arguments.ts'
import type { Options, Values } from '../../command.ts'

/** The parts that a plan is made of, by file. */
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

const json = { json: { type: 'boolean', summary: 'print one JSON object' } } as const satisfies Options

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
  ...whereOptions,
  ...json,
} as const satisfies Options

/** Options of `plan answer`. */
export const answerOptions = {
  as: { type: 'string', summary: 'the name that is recorded with the answers' },
  ...out,
  ...whereOptions,
  ...json,
} as const satisfies Options

/** Options of `plan show`. */
export const showOptions = {
  moves: { type: 'boolean', summary: 'every move with its time, how long it took, and the guards' },
  ...out,
  ...whereOptions,
  ...json,
} as const satisfies Options

/** Options of `plan verify`. */
export const verifyOptions = { ...key, ...json } as const satisfies Options

/** Options of `plan explain`. */
export const explainOptions = { ...inputOptions, ...whereOptions, ...json } as const satisfies Options

/** Arguments of a command that makes a plan from files. */
export interface InputArguments {
  readonly values: Values<typeof inputOptions> & { readonly recovers?: string | undefined }
}

/** Arguments of a command that opens the plans of a store. */
export interface StoreArguments {
  readonly values: Values<typeof whereOptions> &
    Partial<Values<Pick<typeof makeOptions, 'registry' | 'policy' | 'key'>>>
}

/** Arguments of a command that reports where a plan stands. */
export interface ReportArguments {
  readonly values: Values<typeof whereOptions & typeof out & typeof json>
}
