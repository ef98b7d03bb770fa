import type { Client } from '../surface/client.ts'
import type { Use, Where } from '../surface/wiring.ts'
import type { Arguments, Option } from './command.ts'
import type { Host } from './host.ts'

export const jsonOption: Readonly<Record<'json', Option>> = {
  json: { type: 'boolean', summary: 'for programs: JSON, one object per line where there are several' },
}

/** How a command reaches what it is about: through a server, or on the store itself. */
export const whereOptions = {
  server: {
    type: 'string',
    summary: 'the URL of a server; its token is in $STATEWRIGHT_TOKEN, or in the token file',
  },
  store: {
    type: 'string',
    summary: 'sqlite:FILE or postgres://…; else $STATEWRIGHT_STORE, else what the config says',
  },
  config: { type: 'string', summary: 'agents, tools and store; else ./statewright.config.ts' },
} as const satisfies Readonly<Record<string, Option>>

export function whereOf({ values }: Arguments): Where {
  const { server, store, config } = values
  return {
    server: server as string | undefined,
    store: store as string | undefined,
    config: config as string | undefined,
  }
}

/** Opens what the arguments name, and closes it however the work ends. */
export async function withClient<T>(
  host: Host,
  args: Arguments,
  work: (client: Client) => Promise<T>,
  use: Use = 'look',
): Promise<T> {
  const client = await host.openClient(whereOf(args), use)
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}
