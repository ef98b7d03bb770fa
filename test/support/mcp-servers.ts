import { createRequire } from 'node:module'
import type { McpServerOptions } from '../../src/adapters/mcp/server-config.ts'

const require = createRequire(import.meta.url)
const program = (name: string) => require.resolve(`@modelcontextprotocol/server-${name}/dist/index.js`)

type Local = Extract<McpServerOptions, { command: string }>

/** The reference servers, as a config would start them. */
export const referenceServers = {
  everything: (more: Partial<Local> = {}): Local => ({
    command: process.execPath,
    args: [program('everything')],
    ...more,
  }),
  filesystem: (folder: string, more: Partial<Local> = {}): Local => ({
    command: process.execPath,
    args: [program('filesystem'), folder],
    ...more,
  }),
  memory: (file: string, more: Partial<Local> = {}): Local => ({
    command: process.execPath,
    args: [program('memory')],
    env: { MEMORY_FILE_PATH: file },
    ...more,
  }),
}

/** The pids of the processes that this one started and that have these words in their command line. */
export async function childrenWith(word: string): Promise<number[]> {
  const { readdir, readFile } = await import('node:fs/promises')
  const found: number[] = []
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '')
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    if (parent !== process.pid) continue
    const line = await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '')
    if (line.includes(word)) found.push(Number(entry))
  }
  return found
}
