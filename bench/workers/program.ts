/** A worker or a caller of an engine, or both, in a process of its own: `program.ts ORDER`. */
import type { Caller, Engine, Memory, Notice, Order, Ready, Role } from './engine.ts'

const { module, role, url, name } = JSON.parse(process.argv[2] ?? '') as {
  readonly module: string
  readonly role: Role
  readonly url: string
  readonly name: string
}
const engine = (await import(module)) as Engine
/** How many commands a caller gives at once. */
const atOnce = 32

async function each<T, R>(all: readonly T[], one: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let i = next++; i < all.length; i = next++) results[i] = await one(all[i] as T)
    }),
  )
  return results
}

const tell = (notice: Notice) => process.send?.(notice)
const began = performance.now()
const caller = await opened()

async function opened(): Promise<Caller | undefined> {
  if (role === 'prepare') await engine.prepare(url)
  if (role === 'caller') return engine.caller(url)
  if (role === 'both') return engine.both?.(url, tell)
  if (role === 'worker') await engine.worker(url, name, tell)
  return undefined
}

async function obey(order: Order): Promise<readonly unknown[]> {
  if (order.do === 'memory') return [memory()]
  if (caller === undefined) throw new Error('A worker takes no commands.')
  if (order.do === 'start') return each(order.jobs, (job) => caller.start(job))
  if (order.do === 'ended') return each(order.runs, (run) => caller.isEnded(run))
  return each(order.runs, async ({ run, question }) => {
    const at = String(process.hrtime.bigint())
    await caller.reply(run, question)
    return at
  })
}

function memory(): Memory {
  // It also gives back the memory that is free now.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  const { rss, heapUsed, external } = process.memoryUsage()
  return { resident: rss / 2 ** 20, heap: (heapUsed + external) / 2 ** 20 }
}

process.on('message', async ({ number, order }: { number: number; order: Order }) => {
  process.send?.({ number, answer: await obey(order) })
})
process.once('disconnect', () => process.exit())
process.send?.({ told: 'ready', opening_ms: performance.now() - began } satisfies Ready)
