import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { configProblems } from './config.ts'
import { faults } from './faults/catalogue.ts'
import { Fault } from './faults/fault.ts'
import { problemSentence } from './runtime/shape-problems.ts'
import type { StatewrightOptions } from './statewright.ts'

/** In a file the store has a name; an open one cannot be written down. */
export type Config = StatewrightOptions & { readonly store: string }

export const usualConfig = './statewright.config.ts'

/** Reads what a config file exports by default, and refuses it with the path of each field that does not fit. */
export async function loadConfig(file: string = usualConfig): Promise<Config> {
  const path = resolve(file)
  if (!existsSync(path)) throw faults.file_unusable({ file, problem: 'there is no such file.' })
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
    return ((await import(pathToFileURL(path).href)) as { default?: unknown }).default
  } catch (error) {
    // A tool or an agent in it that is refused says better than we could what is wrong.
    if (error instanceof Fault) throw error
    throw faults.file_unusable({ file, problem: `it cannot be loaded: ${(error as Error).message}` }, { cause: error })
  }
}
