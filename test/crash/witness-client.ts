import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import type { Outside } from './outside.ts'
import type { Question } from './witness.ts'

type Bare<Q> = Q extends unknown ? Omit<Q, 'id' | 'world'> : never

/** The outside as another process sees it, through a socket. */
export function connectOutside(folder: string, world: string) {
  const socket = connect(`${folder}/witness.sock`)
  const waiting = new Map<number, (answer: unknown) => void>()
  let asked = 0
  createInterface({ input: socket }).on('line', (line) => {
    const { id, answer } = JSON.parse(line) as { id: number; answer: unknown }
    waiting.get(id)?.(answer)
    waiting.delete(id)
  })

  function ask<T>(question: Bare<Question>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    waiting.set(++asked, resolve)
    socket.write(`${JSON.stringify({ ...question, world, id: asked })}\n`)
    return promise as Promise<T>
  }

  const outside: Outside = {
    receive: (effect) => ask({ ask: 'receive', effect }),
    effects: () => ask({ ask: 'effects' }),
    note: (note) => ask({ ask: 'note', note }),
    notes: () => ask({ ask: 'notes' }),
  }
  return { outside, pending: () => waiting.size, end: () => void socket.destroy() }
}
