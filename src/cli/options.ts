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

function option<T extends Option['type']>(type: T, summary: string, short?: string): Option & { readonly type: T } {
  return { type, summary, ...(short !== undefined && { short }) }
}

/** An option that takes a text. */
export const text = (summary: string, short?: string) => option('string', summary, short)

/** An option that is given or not. */
export const flag = (summary: string, short?: string) => option('boolean', summary, short)

/** `--json`, for commands whose result programs read. */
export const jsonOption = { json: flag('for programs: JSON, one object per line where there are several') }

/** `-m`, for commands whose reason is recorded. */
export const reasonOption = { message: text('the reason, which is recorded', 'm') }

/** How a command reaches the operations: through a server, or on the store itself. */
export const whereOptions = {
  server: text('the URL of a server; its token is in $STATEWRIGHT_TOKEN, or in the token file'),
  store: text('sqlite:FILE or postgres://… Default: $STATEWRIGHT_STORE, then the store of the config'),
  config: text(`the file with agents, tools and store. Default: ${defaultConfigFile}`),
}

/** The last options of a command that calls operations. */
export const clientOptions = { ...whereOptions, ...jsonOption }

/** The store of a command that opens it directly. */
export const storeOption = {
  store: text(`sqlite:FILE or postgres://… Default: $STATEWRIGHT_STORE, then the store of ${defaultConfigFile}`),
}

/** The store or the server of a command that can use either. */
export const hereOrThereOptions = { ...storeOption, server: whereOptions.server }

/** How a budget is typed. */
export const budgetWords = `LIMIT=NUMBER, several separated by commas: ${Object.keys(budget.shape).join(', ')}`
