import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { RunelogReader } from '../runelog/port.ts'
import { isErased } from '../runes/erasure.ts'
import type { Proved, ToProve } from '../surface/wiring.ts'
import { proveSession } from './prove-session.ts'

/** How many sessions a thread gets at once. */
const perBatch = 16
/** How many batches a thread has waiting: this thread gives out the next ones only between two of its own. */
const batchesAhead = 4
/** To start a thread costs about 60 ms of a processor. Fewer sessions are verified by this one alone. */
const fewSessions = 64

/** The start data of a verifying thread. */
export interface ProvingData {
  readonly path: string
  readonly trusted: readonly string[]
}

/** Verifies sessions one after the other. */
export async function* proveHere(
  runelog: Pick<RunelogReader, 'records'>,
  asked: readonly ToProve[],
  trusted: readonly string[],
): AsyncGenerator<Proved, void, void> {
  for (const one of asked) yield await proveSession(runelog, one, { trusted, isErased })
}

/** Verifies sessions of a SQLite file with all processors: in this thread and its helpers. They answer in any order. */
export async function* proveInThreads(
  runelog: Pick<RunelogReader, 'records'>,
  asked: readonly ToProve[],
  data: ProvingData,
): AsyncGenerator<Proved, void, void> {
  const file = new URL(`./prove-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
  const count = Math.min(availableParallelism(), Math.ceil(asked.length / perBatch)) - 1
  // A bundle of the caller has no file for the thread.
  if (asked.length <= fewSessions || count < 1 || !existsSync(file))
    return yield* proveHere(runelog, asked, data.trusted)
  let next = 0
  const take = () => {
    next += perBatch
    return asked.slice(next - perBatch, next)
  }
  const found: Proved[] = []
  let atWork = 0
  let failure: Error | undefined
  let wake = () => {}
  const threads = Array.from({ length: count }, () => {
    const thread = new Worker(file, { workerData: data, execArgv: [] })
    const give = () => {
      const batch = take()
      if (batch.length === 0) return
      atWork += 1
      thread.postMessage(batch)
    }
    thread.on('message', (proved: readonly Proved[]) => {
      atWork -= 1
      found.push(...proved)
      give()
      wake()
    })
    const fail = (error: Error) => {
      failure ??= error
      wake()
    }
    thread.on('error', fail)
    thread.on('exit', (code) => fail(new Error(`A verifying thread ended with code ${code}.`)))
    for (let i = 0; i < batchesAhead; i++) give()
    return thread
  })
  try {
    for (;;) {
      if (failure !== undefined) throw failure
      if (found.length > 0) {
        yield* found.splice(0)
        continue
      }
      const batch = take()
      if (batch.length > 0) {
        yield* proveHere(runelog, batch, data.trusted)
        // Answers of the threads are received in between.
        await setImmediate()
        continue
      }
      if (atWork === 0) return
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()))
  }
}
