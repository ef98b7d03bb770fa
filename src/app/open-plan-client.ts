import { hostPorts } from '../adapters/host/ports.ts'
import { systemClock } from '../adapters/system/clock.ts'
import { createIds } from '../adapters/system/ids.ts'
import { systemRandom } from '../adapters/system/random.ts'
import { systemTimers } from '../adapters/system/timers.ts'
import type { Where } from '../cli/command.ts'
import { createRuntime, type Runtime } from '../runtime/runtime.ts'
import { permissionPolicy } from '../runtime/tools/policy.ts'
import type { Client } from '../surface/client.ts'
import { createDesk } from '../surface/desk.ts'
import { localClient } from '../surface/local-client.ts'
import { knownSecrets } from './known-secrets.ts'
import { atLevel, logLevel } from './log-level.ts'
import { lookingPorts } from './looking-ports.ts'
import { orThroughServer } from './open-client.ts'
import { checkSigningKey, openPlans, type PlanOptions } from './open-plans.ts'
import { closeStore, openStore, usual_lease_ms } from './open-store.ts'
import { usualSettings } from './settings.ts'
import { keyOf } from './store-key.ts'
import { refuseMissing } from './stores.ts'
import { warnOnStderr } from './warn-on-stderr.ts'
import { configOf } from './where.ts'

/**
 * Reaches the plans of a store, through the server that holds it or on the
 * store itself. Plans need no agents, so no config either; runs are left alone,
 * since a runtime that is not started recovers nothing and carries nothing out.
 */
export async function openPlanClient(
  where: Where,
  { creates, ...asked }: PlanOptions & { readonly creates: boolean },
): Promise<Client> {
  return orThroughServer(where, async (url) => {
    if (!creates) refuseMissing(url)
    const config = await configOf(where.config)
    const options = { ...config?.plans, ...asked }
    await checkSigningKey(options)
    const warn = warnOnStderr
    const { settings: { lease_ms = usual_lease_ms } = {} } = config ?? {}
    const store = await openStore(url, hostPorts, knownSecrets({ ...config, store: url }), { lease_ms, warn })
    const { runelog, blobs, redactor, isExclusive } = store
    const { plans, beside, resumeAll, idle, stop } = openPlans(options, {
      engine: () => runtime.engine,
      ...store,
      ...hostPorts,
    })
    const runtime: Runtime = createRuntime(
      {
        runelog,
        redactor,
        isExclusive,
        beside,
        clock: systemClock,
        timers: systemTimers,
        random: systemRandom,
        ids: createIds(hostPorts.random, hostPorts.now),
        sha256: hostPorts.sha256,
        keepWhole: blobs.keep,
        warn,
        log: atLevel(logLevel('warn'), { info: warn, debug: warn }),
      },
      { agents: new Map(), policy: permissionPolicy.parse({}), settings: usualSettings, max_concurrent_runs: 0 },
    )
    // A plan whose process was killed follows from what is recorded: to take it up changes nothing in the world.
    await resumeAll()
    await idle()
    const desk = createDesk({ ...lookingPorts(runelog, keyOf(url)), output: blobs.fetch, plans: async () => plans })
    return localClient(desk, async () => {
      await stop()
      await runtime.stop()
      await closeStore(store)
    })
  })
}
