import { Worker } from 'node:worker_threads'
import type { FoundSession, WordQuery } from '../../runelog/port.ts'
import type { Answered, Asked } from './search-thread.ts'

/** Searches words in a thread, since a common word takes a tenth of a second. It starts with the first search. */
export function createSearch(path: string) {
  let thread: Worker | undefined
  const waiting: PromiseWithResolvers<readonly FoundSession[]>[] = []

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
      else first?.resolve(answer.found)
    })
    started.on('error', fail)
    started.on('exit', () => {
      if (thread === started) fail(new Error('The search has ended.'))
    })
    return started
  }

  return {
    async find({ words, before, limit }: WordQuery): Promise<readonly FoundSession[]> {
      if (words.length === 0) return []
      thread ??= start()
      const found = Promise.withResolvers<readonly FoundSession[]>()
      waiting.push(found)
      thread.ref()
      // Words are letters and digits, and quoted none is a part of the language.
      const asked: Asked = { match: `${words.map((word) => `"${word}"`).join(' AND ')} *`, before, limit }
      thread.postMessage(asked)
      return found.promise
    },
    async close() {
      const last = thread
      fail(new Error('The store was closed.'))
      await last?.terminate()
    },
  }
}
