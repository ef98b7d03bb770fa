import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { asking } from './server.ts'

const program = fileURLToPath(new URL('./console-program.ts', import.meta.url))

export const ownerToken = 'token-of-ada-for-tests'
export const otherToken = 'token-of-bob-for-tests'

/** A server in a process of its own, which can be killed and comes back at the same address. */
export async function startConsole(folder: string, cast: 'agents' | 'goal' = 'agents') {
  let child = begin(folder, 0, cast)
  const url = await addressOf(child)
  const { port } = new URL(url)

  const asked = asking(url, false)

  async function end(signal: NodeJS.Signals) {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }
  return {
    url,
    /** As if the power had gone. */
    kill: () => end('SIGKILL'),
    async restart() {
      child = begin(folder, Number(port), cast)
      await addressOf(child)
    },
    stop: () => end('SIGKILL'),
    /** Asks as a program would. */
    async ask(path: string, body?: object, token = ownerToken) {
      const { status, json } = await asked(path, { token, ...(body !== undefined && { body }) })
      return { status, json }
    },
  }
}

export type ConsoleServer = Awaited<ReturnType<typeof startConsole>>

function begin(folder: string, port: number, cast: string): ChildProcess {
  return spawn(process.execPath, [program, folder, String(port), cast], { stdio: ['ignore', 'pipe', 'inherit'] })
}

async function addressOf(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('The server has no voice.')
  for await (const line of createInterface({ input: child.stdout })) {
    const said = JSON.parse(line) as { url?: string }
    if (said.url !== undefined) return said.url
  }
  throw new Error('The server ended before it said its address.')
}
