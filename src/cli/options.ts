import { budget } from '../runes/kinds.ts'
import { defaultConfigFile } from '../surface/wiring.ts'

type Option = { readonly type: 'boolean' | 'string'; readonly short?: string; readonly summary: string }

/** The options of a command, by name. */
export type Options = Readonly<Record<string, Option>>

type TypeOf = { readonly boolean: boolean; readonly string: string }

/** The values of options, by name. The type of each follows from the declaration of its option. */
export type Values<O extends Options> = { readonly [N in keyof O]?: TypeOf[O[N]['type']] | undefined }

/** The arguments of a command, as they were typed. */
export interface Arguments {
  readonly positionals: readonly string[]
  readonly values: Values<Options>
}

/** `--json`, for commands whose result programs read. */
export const jsonOption = {
  json: { type: 'boolean', summary: 'for programs: JSON, one object per line where there are several' },
} as const satisfies Options

/** `-m`, for commands whose reason is recorded. */
export const reasonOption = {
  message: { type: 'string', short: 'm', summary: 'why; it is recorded' },
} as const satisfies Options

/** How a command reaches the operations: through a server, or on the store itself. */
export const whereOptions = {
  server: {
    type: 'string',
    summary: 'the URL of a server; its token is in $STATEWRIGHT_TOKEN, or in the token file',
  },
  store: {
    type: 'string',
    summary: 'sqlite:FILE or postgres://…; else $STATEWRIGHT_STORE, else what the config says',
  },
  config: { type: 'string', summary: `agents, tools and store; else ${defaultConfigFile}` },
} as const satisfies Options

/** The last options of a command that calls operations. */
export const clientOptions = { ...whereOptions, ...jsonOption } as const satisfies Options

/** The store of a command that opens it directly. */
export const storeOption = {
  store: {
    type: 'string',
    summary: `sqlite:FILE or postgres://…; else $STATEWRIGHT_STORE, else what ${defaultConfigFile} says`,
  },
} as const satisfies Options

/** The store or the server of a command that can use either. */
export const hereOrThereOptions = { ...storeOption, server: whereOptions.server } as const satisfies Options

/** How a budget is typed. */
export const budgetWords = `LIMIT=NUMBER, several separated by commas: ${Object.keys(budget.shape).join(', ')}`
