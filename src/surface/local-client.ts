import type { Backend } from './backend.ts'
import { carryOut, readRequest } from './carry-out.ts'
import type { Client, Heard } from './client.ts'

/** Answers from the store that this process has open, with what a server would have answered. */
export function localClient(backend: Backend, close: () => Promise<void>): Client {
  return {
    isServed: false,
    async call(operation, { params = {}, query = {}, body, idempotency_key = null }) {
      const asked = readRequest(operation, { params, query, body, idempotency_key, by: 'human', scope: 'admin' })
      return (await carryOut(operation, backend, asked)).answer
    },

    async *follow(session_id, after, signal) {
      const heard: Heard[] = []
      let bell = Promise.withResolvers<void>()
      const ring = () => bell.resolve()
      const unsubscribe = backend.listen((delta) => {
        if (delta.session_id !== session_id) return
        heard.push({ type: 'delta', delta })
        ring()
      })
      let isOver = false
      const following = (async () => {
        for await (const rune of backend.runelog.follow(session_id, after, signal)) {
          heard.push({ type: 'rune', rune })
          ring()
        }
      })().finally(() => {
        isOver = true
        ring()
      })
      try {
        for (;;) {
          for (let next = heard.shift(); next !== undefined; next = heard.shift()) yield next
          if (isOver) return await following
          bell = Promise.withResolvers<void>()
          if (heard.length === 0 && !isOver) await bell.promise
        }
      } finally {
        unsubscribe()
        following.catch(() => {})
      }
    },

    close,
  }
}
