import { hostPorts } from '../adapters/host/ports.ts'
import type { Use, Where } from '../cli/command.ts'
import type { Client } from '../surface/client.ts'
import { createDesk } from '../surface/desk.ts'
import { localClient } from '../surface/local-client.ts'
import { deskOn } from './desk-on.ts'
import { knownSecrets } from './known-secrets.ts'
import { loadConfig } from './load-config.ts'
import { lookingPorts } from './looking-ports.ts'
import { closeStore, openStore, usual_lease_ms } from './open-store.ts'
import { createStatewright, openForCommand, type Statewright, type StatewrightOptions } from './statewright.ts'
import { keyOf } from './store-key.ts'
import { refuseMissing } from './stores.ts'
import { warnOnStderr } from './warn-on-stderr.ts'
import { configOf } from './where.ts'

const noConfig: Omit<StatewrightOptions, 'store'> = { agents: {} }

/**
 * On the store with all that the config says. Whoever acts may look first: the
 * runtime starts, and recovers what a killed process left, when something is to
 * be done; where the agents are in a program of their own, there is no config,
 * and none is needed. Where a command works, the runtime starts at once, and takes the runs that the command asks for.
 */
export async function openWorkingClient(url: string, { config: file }: Where, use: Use): Promise<Client> {
  const config = (use === 'act' ? await configOf(file) : await loadConfig(file)) ?? noConfig
  const warn = config.warn ?? warnOnStderr
  if (use === 'work') {
    const { sw, workOn } = await openForCommand({ ...config, store: url, warn })
    return { ...localClient(deskOn(sw, keyOf(url)), () => sw.close()), workOn }
  }
  refuseMissing(url)
  const { settings: { lease_ms = usual_lease_ms } = {} } = config
  const store = await openStore(url, hostPorts, knownSecrets({ ...config, store: url }), { lease_ms, warn })
  let started: Promise<Statewright> | undefined
  const commands = () => {
    started ??= createStatewright({ ...config, store, warn, max_concurrent_runs: 0 })
    return started
  }
  const desk = createDesk({
    ...lookingPorts(store.runelog, keyOf(url)),
    output: store.blobs.fetch,
    commands,
    plans: async () => (await commands()).plans,
    // Before something is to be done, this process only looks.
    abandoned: async () => (await started)?.abandoned() ?? [],
  })
  return localClient(desk, async () => {
    await (await started)?.close()
    await closeStore(store)
  })
}
