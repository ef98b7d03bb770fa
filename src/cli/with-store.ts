import { faults } from '../faults/catalogue.ts'
import type { ExistingStore } from '../surface/wiring.ts'
import type { Arguments, Command, Option } from './command.ts'
import type { Host } from './host.ts'

export const storeOption: Readonly<Record<'store', Option>> = {
  store: {
    type: 'string',
    summary: 'sqlite:FILE or postgres://…; else $STATEWRIGHT_STORE, else what ./statewright.config.ts says',
  },
}

/** Opens the store that the arguments name, and closes it however the work ends. */
export async function withStore<T>(
  host: Host,
  { values }: Arguments,
  use: 'look' | 'change',
  work: (store: ExistingStore) => Promise<T>,
): Promise<T> {
  const store = await host.openStore(values.store as string | undefined, use)
  try {
    return await work(store)
  } finally {
    await store.runelog.close()
  }
}

/** The session whose id this is, or begins with this; where there is none, what was given. */
export async function sessionNamed({ runelog }: ExistingStore, given: string): Promise<string> {
  if ((await runelog.head(given)) !== undefined) return given
  const prefix = given.startsWith('ses_') ? given : `ses_${given}`
  const found = (await runelog.sessionIds()).filter((id) => id.startsWith(prefix))
  if (found.length > 1) throw faults.id_ambiguous({ id: given, candidates: found.slice(0, 10) })
  return found[0] ?? given
}

/** The positional arguments, if there are as many as the command takes. */
export function take(command: Command, { positionals }: Arguments, least: number, most = least): readonly string[] {
  if (positionals.length >= least && positionals.length <= most) return positionals
  const wanted = least === most ? `${most || 'no'}` : `${least} to ${most}`
  const noun = most === 1 ? 'argument' : 'arguments'
  throw faults.bad_usage({ problem: `It takes ${wanted} ${noun}, not ${positionals.length}.`, usage: command.usage })
}
