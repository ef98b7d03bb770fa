import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Step } from './statements.ts'

export interface WriterThread {
  readonly commit: (steps: readonly Step[]) => Promise<void>
  readonly close: () => Promise<void>
}

/** Commits in a thread of their own: while one waits for the disk, the event loop goes on. One commit at a time. */
export async function startWriterThread(path: string): Promise<WriterThread> {
  const file = import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js'
  const worker = new Worker(new URL(file, import.meta.url), { workerData: path })
  let settle: { resolve: () => void; reject: (error: unknown) => void } | undefined
  worker.on('message', (error: object | null) => {
    const waiting = settle
    settle = undefined
    if (error === null) waiting?.resolve()
    else waiting?.reject(Object.assign(new Error(), error))
  })
  worker.on('error', (error) => settle?.reject(error))
  await once(worker, 'online')
  worker.unref()

  return {
    commit: (steps) =>
      new Promise((resolve, reject) => {
        worker.ref()
        settle = {
          resolve: () => {
            worker.unref()
            resolve()
          },
          reject,
        }
        worker.postMessage(steps)
      }),
    async close() {
      const gone = once(worker, 'exit')
      worker.ref()
      worker.postMessage(null)
      await gone
    },
  }
}
