import { existsSync } from 'node:fs'
import type { Where } from './cli/command.ts'
import { type Config, loadConfig, usualConfig } from './load-config.ts'

/** The store that the command line names, or the environment, or the config; else the usual file. */
export async function storeOf({ store, config }: Where): Promise<string> {
  const named = store ?? process.env.STATEWRIGHT_STORE
  if (named !== undefined) return named
  return (await configOf(config))?.store ?? 'sqlite:./statewright.db'
}

/** The config that was named, or the usual one if there is one. */
export async function configOf(named: string | undefined): Promise<Config | undefined> {
  return hasConfig(named) ? loadConfig(named) : undefined
}

export function hasConfig(named: string | undefined): boolean {
  return named !== undefined || existsSync(usualConfig)
}
