import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Step } from './statements.ts'

export interface WriterThread {
  /** One commit at a time. */
  readonly commit: (steps: readonly Step[]) => Promise<void>
  readonly close: () => Promise<void>
}

/** What the thread says: that it is ready, that a commit is done, or why not. */
export type Said = 'ready' | 'done' | { readonly message: string; readonly errcode?: number; readonly code?: string }

/** Commits in a thread of their own: while one waits for the disk, the event loop goes on. */
export async function startWriterThread(path: string): Promise<WriterThread> {
  const file = import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js'
  const worker = new Worker(new URL(file, import.meta.url), { workerData: path })
  let waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | undefined
  let dead: Error | undefined

  function settle(error?: unknown) {
    worker.unref()
    if (error === undefined) waiting?.resolve()
    else waiting?.reject(error)
    waiting = undefined
  }
  worker.on('message', (said: Said) => settle(typeof said === 'string' ? undefined : Object.assign(new Error(), said)))
  worker.on('error', (error) => {
    dead = error
    settle(error)
  })

  /** A thread at rest does not keep the process alive; one at work does. */
  const ask = (request: () => void) =>
    new Promise<void>((resolve, reject) => {
      if (dead !== undefined) return reject(dead)
      waiting = { resolve, reject }
      worker.ref()
      request()
    })

  await ask(() => {})
  return {
    commit: (steps) => ask(() => worker.postMessage(steps)),
    async close() {
      if (dead !== undefined) return
      worker.ref()
      worker.postMessage(null)
      await once(worker, 'exit')
    },
  }
}
