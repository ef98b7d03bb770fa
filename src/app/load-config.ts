import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { claimOwnFile } from '../adapters/workspace/own-files.ts'
import { faults } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import { problemSentence } from '../runtime/shape-problems.ts'
import { readThrown, stackOf } from '../runtime/thrown.ts'
import { configProblems } from './config.ts'
import type { StatewrightOptions } from './statewright.ts'

/** In a file the store has a name; an open one cannot be written down. */
export type Config = StatewrightOptions & { readonly store: string }

export const usualConfig = './statewright.config.ts'

/** Reads what a config file exports by default, and refuses it with the path of each field that does not fit. */
export async function loadConfig(file: string = usualConfig): Promise<Config> {
  const path = resolve(file)
  if (!existsSync(path)) {
    const more = file === usualConfig ? '; "statewright init" writes one, and --config names another' : ''
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
    // A tool or an agent in it that is refused says better than we could what is wrong.
    if (error instanceof Fault) throw error
    throw faults.file_unusable({ file, problem: `it cannot be loaded: ${whyNot(error)}` }, { cause: error })
  }
}

/** What people meet on their first day, and what mends it. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /^Cannot use import statement outside a module|^Unexpected token 'export'/,
    'its package.json makes it CommonJS: npm pkg set type=module, or let its name end in .mts',
  ],
  [/^Cannot find package '([^']+)'/, 'npm install $1'],
  [/^Unknown file extension "\.m?ts"/, 'use Node 22.18 or newer, or a config in JavaScript (--config)'],
]

/** What was thrown, where in files of the user, and what mends it. */
function whyNot(thrown: unknown): string {
  const { message } = readThrown(thrown)
  const place = placeIn(stackOf(thrown))
  const [match, remedy] = remedies.find(([pattern]) => pattern.test(message)) ?? []
  const mend = match === undefined ? '' : `; ${remedy?.replace('$1', match.exec(message)?.[1] ?? '')}`
  return `${message.replace(/\.$/, '')}${place}${mend}.`
}

/** The first line of the stack that is neither of Node nor of a package. */
function placeIn(stack: string): string {
  const [, url, line] =
    [...stack.matchAll(/(file:\/\/\S+?):(\d+)(?::\d+)?/g)].find(([, url]) => !/\/node_modules\//.test(url ?? '')) ?? []
  return url === undefined ? '' : ` (${relative('', fileURLToPath(url))}:${line})`
}
