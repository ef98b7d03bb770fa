import { noFoldCache } from '../runtime/session-cache.ts'
import { permissionPolicy } from '../runtime/tools/policy.ts'
import { createBackend } from '../surface/backend.ts'
import { type Client, localClient } from '../surface/client.ts'
import type { PlanAsked, Where } from '../surface/wiring.ts'
import { backendOf, lookingPorts } from './backend.ts'
import { connect } from './connect.ts'
import { withDefaults } from './defaults.ts'
import { configOf, loadConfig } from './load-config.ts'
import { orThroughServer } from './open-client.ts'
import { checkSigningKey } from './open-plans.ts'
import { closeStore, openStore, refuseMissing } from './open-store.ts'
import { createStatewright, openForCommand, type Statewright, type StatewrightOptions } from './statewright.ts'
import { keyOf } from './store-key.ts'
import { atLevel, knownSecrets, logLevel } from './warnings.ts'

const noConfig: Omit<StatewrightOptions, 'store'> = { agents: {} }

/** A client that works: the runtime starts at once and takes only the runs that the command asks for. */
export async function openWorkingClient(where: Where): Promise<Client> {
  return orThroughServer(where, async (url) => {
    const config = await loadConfig(where.config)
    const { sw, workOn } = await openForCommand({ ...config, store: url, warn: withDefaults(config).warn })
    const client = localClient(backendOf(sw, keyOf(url)), () => sw.close())
    return { ...client, workOn, ...(sw.isExclusive && { idle: sw.idle }) }
  })
}

/** A client that acts, also without a config. The runtime starts, and recovers, with the first command. */
export async function openActingClient(where: Where): Promise<Client> {
  return orThroughServer(where, async (url) => {
    const config = (await configOf(where.config)) ?? noConfig
    refuseMissing(url)
    const { store, warn } = await openFor(url, config)
    let started: Promise<Statewright> | undefined
    const commands = () => (started ??= createStatewright({ ...config, store, warn, maxConcurrentRuns: 0 }))
    const backend = createBackend({
      ...lookingPorts(store.runelog, keyOf(url)),
      output: store.blobs.fetch,
      commands,
      plans: async () => (await commands()).plans,
      abandoned: async () => (await started)?.runs.abandoned() ?? [],
    })
    return localClient(backend, async () => {
      await (await started)?.close()
      await closeStore(store)
    })
  })
}

/** A client for the plans of a store. It needs no agents. Its runtime is never started, so it recovers no run. */
export async function openPlanClient(where: Where, { creates, ...asked }: PlanAsked): Promise<Client> {
  return orThroughServer(where, async (url) => {
    if (!creates) refuseMissing(url)
    const config = await configOf(where.config)
    const plansAsked = { ...config?.plans, ...asked }
    await checkSigningKey(plansAsked)
    const { store, warn } = await openFor(url, config ?? {})
    // It neither takes part in the work on a shared store nor keeps folded sessions.
    const { shared: _shared, ...alone } = store
    const { plans, planning, stop } = connect(
      { ...alone, foldCache: noFoldCache },
      {
        agents: new Map(),
        policy: permissionPolicy.parse({}),
        maxConcurrentRuns: 0,
        plans: plansAsked,
        warn,
        log: atLevel(logLevel('warn'), { info: warn, debug: warn }),
      },
    )
    // The steps of a plan follow from its record, so resuming one has no effect outside the store.
    await planning.resumeAll()
    await planning.idle()
    const backend = createBackend({
      ...lookingPorts(store.runelog, keyOf(url)),
      output: store.blobs.fetch,
      plans: async () => plans,
    })
    return localClient(backend, async () => {
      await stop()
      await closeStore(store)
    })
  })
}

async function openFor(url: string, config: Partial<StatewrightOptions>) {
  const { leaseMs, warn } = withDefaults(config)
  return { store: await openStore(url, { secrets: knownSecrets({ ...config, store: url }), leaseMs, warn }), warn }
}
