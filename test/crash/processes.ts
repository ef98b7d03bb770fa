import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const program = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** Starts the witness. It listens when this resolves, and ends with `stop`. */
export async function startWitness(folder: string) {
  const child = spawn(process.execPath, [program('./witness.ts'), folder], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  await Promise.race([
    once(child.stdout, 'data'),
    ended.then(() => Promise.reject(new Error('The witness did not start.'))),
  ])
  return {
    async stop() {
      child.stdin.end()
      await ended
    },
  }
}

export interface Lived {
  readonly signal: string | null
  readonly code: number | null
  readonly said: string
  readonly ms: number
}

/** One life of a process, from its start to its death at a point, or to its end. */
export async function liveAsProcess(folder: string, world: string, diesAt?: number): Promise<Lived> {
  const began = performance.now()
  const args = [program('./mortal.ts'), folder, world, String(diesAt ?? 0)]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // The second life and all after it need not compile what the first has compiled.
    env: { ...process.env, NODE_COMPILE_CACHE: `${folder}/compiled` },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
  const timer = setTimeout(() => child.kill('SIGTERM'), 60_000)
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  clearTimeout(timer)
  return { code, signal, said, ms: performance.now() - began }
}
