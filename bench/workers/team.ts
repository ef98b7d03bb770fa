import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { processorTimeOf } from '../support/usage.ts'
import type { Job, Memory, Notice, Order, Question, Ready, Role } from './engine.ts'

const program = join(import.meta.dirname, 'program.ts')
const longest_ms = 300_000

interface Member {
  readonly child: ChildProcess
  /** How long it took to open the store. */
  readonly opening_ms: number
  /** The effects that it began. */
  effects: number
}

interface TeamOptions {
  readonly module: string
  readonly url: string
  /** One process is the worker and the caller. Otherwise there are two workers and a caller. */
  readonly isAlone?: boolean
}

async function startProgram(options: {
  readonly module: string
  readonly role: Role
  readonly url: string
  readonly name: string
}) {
  const child = fork(program, [JSON.stringify(options)], {
    execArgv: ['--no-warnings', '--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const { opening_ms } = await new Promise<Ready>((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', (code) => reject(new Error(`A ${options.role} ended with ${code}.`)))
  })
  return { child, opening_ms }
}

/** Makes the tables of an engine, in a process of its own. */
export async function prepareTables(module: string, url: string): Promise<void> {
  const { child } = await startProgram({ module, role: 'prepare', url, name: 'prepare' })
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** Two workers and a caller of an engine, each in a process of its own, and what the workers told so far. */
export async function startTeam({ module, url, isAlone = false }: TeamOptions) {
  const asked = new Map<string, Question>()
  const effects = new Map<string, bigint>()
  const ended = new Set<string>()
  let look = () => {}
  let orders = 0

  async function start(role: Role, name: string): Promise<Member> {
    const { child, opening_ms } = await startProgram({ module, role, url, name })
    const member: Member = { child, opening_ms, effects: 0 }
    child.on('message', (notice: Notice | { readonly told?: undefined }) => {
      if (notice.told === undefined) return
      if (notice.told === 'asked') asked.set(notice.run, notice.question)
      if (notice.told === 'ended') ended.add(notice.run)
      if (notice.told === 'effect') {
        member.effects += 1
        effects.set(notice.run, BigInt(notice.at))
      }
      look()
    })
    return member
  }

  const startWorkers = async () =>
    isAlone ? [await start('both', 'worker_1')] : [await start('worker', 'worker_1'), await start('worker', 'worker_2')]

  /** Resolves when it holds, looking after each notice. */
  async function until(holds: () => boolean): Promise<void> {
    const deadline = setTimeout(() => {
      throw new Error(`${asked.size} were asked, ${effects.size} effects begun, ${ended.size} ended.`)
    }, longest_ms)
    await new Promise<void>((resolve) => {
      look = () => {
        if (holds()) resolve()
      }
      look()
    })
    look = () => {}
    clearTimeout(deadline)
  }

  const ownCaller = isAlone ? undefined : await start('caller', 'caller')
  let workers = await startWorkers()

  async function order<T>({ child }: Member, given: Order): Promise<readonly T[]> {
    const number = ++orders
    const answered = new Promise<readonly T[]>((resolve) => {
      const hear = (said: { number: number; answer: readonly T[] }) => {
        if (said.number !== number) return
        child.off('message', hear)
        resolve(said.answer)
      }
      child.on('message', hear)
    })
    child.send({ number, order: given })
    return answered
  }

  const caller = () => ownCaller ?? (workers[0] as Member)

  async function end(members: readonly Member[]) {
    for (const { child } of members) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }

  return {
    workers: () => workers,
    effects,
    until,
    async start(jobs: readonly Job[]): Promise<readonly string[]> {
      const runs = await order<string>(caller(), { do: 'start', jobs })
      await until(() => runs.every((run) => asked.has(run)))
      return runs
    },
    /** The times at which the replies were given. */
    async reply(runs: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
      const given = runs.map((run) => ({ run, question: asked.get(run) ?? null }))
      const times = await order<string>(caller(), { do: 'reply', runs: given })
      return new Map(runs.map((run, i) => [run, BigInt(times[i] ?? 0)]))
    },
    allEnded: (runs: readonly string[]) => until(() => runs.every((run) => ended.has(run))),
    areEnded: (runs: readonly string[]) => order<boolean>(caller(), { do: 'ended', runs }),
    memories: async () => (await Promise.all(workers.map((worker) => order<Memory>(worker, { do: 'memory' })))).flat(),
    processorTimes: () => ({
      caller: ownCaller === undefined ? 0 : processorTimeOf(ownCaller.child.pid ?? 0),
      workers: workers.reduce((sum, { child }) => sum + processorTimeOf(child.pid ?? 0), 0),
    }),
    /** Kills the workers at once, and starts as many. */
    async restartWorkers() {
      await end(workers)
      workers = await startWorkers()
    },
    stop: () => end([...(ownCaller === undefined ? [] : [ownCaller]), ...workers]),
  }
}
