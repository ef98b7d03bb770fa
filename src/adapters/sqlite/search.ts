import { Worker } from 'node:worker_threads'
import type { FoundSession, WordQuery } from '../../runelog/words.ts'
import type { Answered, Asked } from './search-thread.ts'

interface Search {
  find(query: WordQuery): Promise<readonly FoundSession[]>
  close(): Promise<void>
}

interface Waiting {
  readonly resolve: (found: readonly FoundSession[]) => void
  readonly reject: (error: Error) => void
}

/** Looks words up in a thread, since a common word takes a tenth of a second. It starts with the first search. */
export function createSearch(path: string): Search {
  let thread: Worker | undefined
  const waiting: Waiting[] = []

  function fail(error: Error) {
    thread = undefined
    for (const { reject } of waiting.splice(0)) reject(error)
  }

  function start(): Worker {
    const file = new URL(`./search-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
    const started = new Worker(file, { workerData: { path }, execArgv: [] })
    started.on('message', (answer: Answered) => {
      const first = waiting.shift()
      if (waiting.length === 0) started.unref()
      if ('problem' in answer) first?.reject(new Error(answer.problem))
      else first?.resolve(answer.found.map(([session_id, number]) => ({ session_id, number })))
    })
    started.on('error', fail)
    started.on('exit', () => {
      if (thread === started) fail(new Error('The search has ended.'))
    })
    return started
  }

  return {
    find({ words, before = null, limit }) {
      if (words.length === 0) return Promise.resolve([])
      return new Promise((resolve, reject) => {
        thread ??= start()
        waiting.push({ resolve, reject })
        thread.ref()
        // Words are letters and digits, and quoted none is a part of the language.
        const asked: Asked = { match: `${words.map((word) => `"${word}"`).join(' AND ')} *`, before, limit }
        thread.postMessage(asked)
      })
    },
    async close() {
      const last = thread
      fail(new Error('The store was closed.'))
      await last?.terminate()
    },
  }
}
