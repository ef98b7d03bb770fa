import { existsSync } from 'node:fs'
import type { Where } from '../cli/command.ts'
import { type Config, loadConfig, usualConfig } from './load-config.ts'

/** The store that the command line names, or the environment, or the config; else the usual file. */
export async function storeOf({ store, config }: Where): Promise<string> {
  const named = store ?? process.env.STATEWRIGHT_STORE
  if (named !== undefined) return named
  return (await configOf(config))?.store ?? 'sqlite:./statewright.db'
}

/** What a config file says, with the store that the command line or the environment names instead of its own. */
export async function configAt({ store, config: file }: Pick<Where, 'store' | 'config'>): Promise<Config> {
  const config = await loadConfig(file)
  return { ...config, store: store ?? process.env.STATEWRIGHT_STORE ?? config.store }
}

/** The config that was named, or the usual one if there is one. */
export async function configOf(named: string | undefined): Promise<Config | undefined> {
  return hasConfig(named) ? loadConfig(named) : undefined
}

export function hasConfig(named: string | undefined): boolean {
  return named !== undefined || existsSync(usualConfig)
}
