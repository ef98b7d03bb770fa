import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { claimOwnFile } from '../adapters/workspace/own-files.ts'
import { faults } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import { problemSentence } from '../runtime/shape-problems.ts'
import { readThrown, stackOf } from '../runtime/thrown.ts'
import { defaultConfigFile, type Where } from '../surface/wiring.ts'
import { configProblems } from './config.ts'
import { defaultStore } from './defaults.ts'
import type { StatewrightOptions } from './statewright.ts'

/** The options of a config file, which names its store by URL. */
export type Config = StatewrightOptions & { readonly store: string }

/** The URL of the store: from the command line, else the environment, else the config, else the default. */
export async function storeOf({ store, config }: Where): Promise<string> {
  return store ?? process.env.STATEWRIGHT_STORE ?? (await configOf(config))?.store ?? defaultStore
}

/** The config, with the store that the command line or the environment names instead of its own. */
export async function configAt({ store, config: file }: Pick<Where, 'store' | 'config'>): Promise<Config> {
  const config = await loadConfig(file)
  return { ...config, store: store ?? process.env.STATEWRIGHT_STORE ?? config.store }
}

/** The config that was named, or the default one if it exists. */
export async function configOf(named: string | undefined): Promise<Config | undefined> {
  return hasConfig(named) ? loadConfig(named) : undefined
}

/** Whether a config was named, or the default one exists. */
export const hasConfig = (named: string | undefined): boolean => named !== undefined || existsSync(defaultConfigFile)

/** Loads the default export of a config file. Refuses it with the path of each field that does not fit. */
export async function loadConfig(file: string = defaultConfigFile): Promise<Config> {
  const path = resolve(file)
  if (!existsSync(path)) {
    const more = file === defaultConfigFile ? '; "statewright init" writes one, and --config names another' : ''
    throw faults.file_unusable({ file, problem: `there is no such file${more}.` })
  }
  claimOwnFile(path)
  const config = await exported(file, path)
  if (config === undefined)
    throw faults.file_unusable({
      file,
      problem: 'it has no default export; write `export default defineConfig({ … })`.',
    })
  const problems = configProblems(config)
  if (problems.length > 0)
    throw faults.bad_definition({ what: 'config', name: file, problem: `${problemSentence(problems)}.` })
  return config as Config
}

async function exported(file: string, path: string): Promise<unknown> {
  try {
    return await ((await import(pathToFileURL(path).href)) as { default?: unknown }).default
  } catch (error) {
    // The refusal of a tool or an agent names the field already.
    if (error instanceof Fault) throw error
    throw faults.file_unusable({ file, problem: `it cannot be loaded: ${whyNot(error)}` }, { cause: error })
  }
}

/** Frequent errors of a first config, with what to do about each. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /^Cannot use import statement outside a module|^Unexpected token 'export'/,
    'its package.json makes it CommonJS: npm pkg set type=module, or let its name end in .mts',
  ],
  [/^Cannot find package '([^']+)'/, 'npm install $1'],
  [/^Unknown file extension "\.m?ts"/, 'use Node 22.18 or newer, or a config in JavaScript (--config)'],
]

function whyNot(thrown: unknown): string {
  const { message } = readThrown(thrown)
  const place = placeIn(stackOf(thrown))
  const [match, remedy] = remedies.find(([pattern]) => pattern.test(message)) ?? []
  const fix = match === undefined ? '' : `; ${remedy?.replace('$1', match.exec(message)?.[1] ?? '')}`
  return `${message.replace(/\.$/, '')}${place}${fix}.`
}

/** The first place in the stack that is neither in Node nor in a package. */
function placeIn(stack: string): string {
  const [, url, line] =
    [...stack.matchAll(/(file:\/\/\S+?):(\d+)(?::\d+)?/g)].find(([, url]) => !/\/node_modules\//.test(url ?? '')) ?? []
  return url === undefined ? '' : ` (${relative('', fileURLToPath(url))}:${line})`
}
