import { existsSync } from 'node:fs'

const folder = 'bench/peers/node_modules'

/** Where a peer may record its steps. */
interface Places {
  readonly file: () => string
  readonly restate: { readonly ingress: string; readonly admin: string } | undefined
  readonly database: () => Promise<string>
}

export interface Peer {
  readonly name: string
  readonly label: string
  readonly script: string
  readonly input: (places: Places) => Promise<object>
  /** How many times as long as ours it should take at least. */
  readonly least?: number
  /** A peer whose steps cost more with each step before them gets fewer. */
  readonly most?: number
  readonly server?: 'postgres' | 'restate'
}

const all: readonly (Peer & { readonly needs: string })[] = [
  {
    name: 'delta',
    label: 'LangGraph.js, DeltaChannel',
    needs: '@langchain/langgraph',
    script: 'langgraph.mjs',
    input: async ({ file }) => ({ kind: 'delta', file: file() }),
    least: 3.5,
  },
  {
    name: 'langgraph',
    label: 'LangGraph.js, plain',
    needs: '@langchain/langgraph',
    script: 'langgraph.mjs',
    input: async ({ file }) => ({ kind: 'plain', file: file() }),
    least: 18,
  },
  {
    name: 'dbos',
    label: 'DBOS on PostgreSQL',
    needs: '@dbos-inc/dbos-sdk',
    script: 'dbos.mjs',
    input: async ({ database }) => ({ url: await database() }),
    least: 5,
    server: 'postgres',
  },
  {
    name: 'restate',
    label: 'Restate with its server',
    needs: '@restatedev/restate-server',
    script: 'restate.mjs',
    input: async ({ restate }) => ({ ...restate }),
    least: 4,
    server: 'restate',
  },
  {
    name: 'mastra',
    label: 'Mastra with libSQL',
    needs: '@mastra/core',
    script: 'mastra.mjs',
    input: async ({ file }) => ({ file: file() }),
    most: 100,
  },
]

export const isInstalled = (needs: string): boolean => existsSync(`${folder}/${needs}`)

/** The sentence for a peer that is missing. */
export const missing = (label: string): string => `${label} is not installed: npm run bench:peers installs the peers.`

export const installed: readonly Peer[] = all.filter(({ needs }) => isInstalled(needs))
export const notInstalled: readonly string[] = all.filter(({ needs }) => !isInstalled(needs)).map(({ label }) => label)
