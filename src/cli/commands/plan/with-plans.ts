import type { Client } from '../../../surface/client.ts'
import type { PlanAsked } from '../../../surface/wiring.ts'
import type { Arguments, Command } from '../../command.ts'
import type { Io } from '../../host.ts'
import { badUsage } from '../../usage.ts'
import { whereOf } from '../../with-client.ts'

/** Opens the plans that the arguments name, and closes them however the work ends. */
export async function withPlans<T>(
  command: Command,
  args: Arguments,
  { host }: Io,
  creates: boolean,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const where = whereOf(args)
  const { registry, policy, key } = args.values as { registry?: string; policy?: string; key?: string }
  const own = [registry, policy, key].some((given) => given !== undefined)
  if (where.server !== undefined && own)
    throw badUsage(command, 'A server judges by its own registry and policy, and signs with its own key.')
  const asked: PlanAsked = {
    creates,
    ...(registry === undefined ? {} : { registry }),
    ...(policy === undefined ? {} : { policy: await host.planning.readDocument(policy) }),
    ...(key === undefined ? {} : { signing_key: key }),
  }
  const client = await host.openPlans(where, asked)
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}
