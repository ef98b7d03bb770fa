import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { faults } from '../faults/catalogue.ts'
import { othersTurn } from '../runelog/slices.ts'
import type { Limits } from './limits.ts'

/** The requests of one token: some are carried out, the others wait in line. */
type Line = { underWay: number; readonly queue: (() => void)[]; streams: number }

/** Limits what clients can make the server hold: one request per socket, a few per token, and the bytes of answers. */
export function boundLoad(app: FastifyInstance, limits: Limits) {
  const lines = new Map<string, Line>()
  /** The last request of each socket: it resolves when its answer has left. */
  const last = new WeakMap<Socket, Promise<void>>()
  const pipelined = new WeakMap<Socket, number>()
  /** Listeners for the close of a socket: an answer that waits behind another one does not notice it by itself. */
  const closeListeners = new WeakMap<Socket, Set<() => void>>()
  /** Answers that are being sent, oldest first, and their bytes. */
  const sending = new Map<ServerResponse, number>()
  let waiting = 0

  const nameOf = ({ token }: FastifyRequest) => token?.name ?? ''

  function lineOf(name: string): Line {
    const line = lines.get(name) ?? { underWay: 0, queue: [], streams: 0 }
    lines.set(name, line)
    return line
  }

  function tidy(name: string, { underWay, queue, streams }: Line) {
    if (underWay === 0 && queue.length === 0 && streams === 0) lines.delete(name)
  }

  async function enter(name: string): Promise<() => void> {
    const line = lineOf(name)
    if (line.underWay >= limits.requestsPerToken) {
      if (line.queue.length >= limits.queuedPerToken)
        throw faults.too_many_requests({ token: name, limit: limits.queuedPerToken })
      await new Promise<void>((resolve) => line.queue.push(resolve))
    } else line.underWay += 1
    let hasLeft = false
    return () => {
      if (hasLeft) return
      hasLeft = true
      const next = line.queue.shift()
      // The next request in line takes over the place.
      if (next !== undefined) return next()
      line.underWay -= 1
      tidy(name, line)
    }
  }

  /** Resolves when an answer has left, or its client is gone. */
  function overOf(answer: ServerResponse, socket: Socket): Promise<void> {
    const { promise: over, resolve } = Promise.withResolvers<void>()
    const listeners = closeListeners.get(socket) ?? new Set()
    if (!closeListeners.has(socket)) {
      closeListeners.set(socket, listeners)
      socket.once('close', () => {
        for (const listener of listeners) listener()
      })
    }
    listeners.add(resolve)
    answer.once('close', () => {
      listeners.delete(resolve)
      resolve()
    })
    if (socket.destroyed) resolve()
    return over
  }

  /** Waits until the answer before this one on the same socket has left. A client that sends on meanwhile is not read. */
  async function oneAtATime(socket: Socket, closed: Promise<void>) {
    const before = last.get(socket)
    last.set(socket, closed)
    const ahead = (pipelined.get(socket) ?? 0) + 1
    pipelined.set(socket, ahead)
    if (ahead > limits.pipelined) socket.pause()
    void closed.then(() => {
      const left = (pipelined.get(socket) ?? 1) - 1
      pipelined.set(socket, left)
      if (left <= limits.pipelined && socket.isPaused()) socket.resume()
    })
    await before
  }

  /** Cuts off the oldest answers until the rest is within the limit. */
  function cutSlow() {
    for (const answer of sending.keys()) {
      if (waiting <= limits.answersBytes) return
      answer.req.socket.destroy()
      drop(answer)
    }
  }

  function drop(answer: ServerResponse) {
    waiting -= sending.get(answer) ?? 0
    sending.delete(answer)
  }

  app.decorateRequest('leave', null)
  app.addHook('onRequest', async (request, reply) => {
    const { socket } = request.raw
    const over = overOf(reply.raw, socket)
    await oneAtATime(socket, over)
    if (request.token !== null && !socket.destroyed) {
      const leave = await enter(nameOf(request))
      request.leave = leave
      void over.then(leave)
      // Each request begins in a turn of the event loop of its own, however many come at once.
      await othersTurn()
    }
    // The client has hung up: nothing is begun for it.
    return socket.destroyed ? reply.hijack() : undefined
  })

  app.addHook('onSend', async (request, reply, payload) => {
    // The answer is made. Other requests of the token need not wait until the client has read it.
    request.leave?.()
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload
    const { socket } = request.raw
    if (socket.destroyed) return ''
    const bytes = Buffer.byteLength(payload)
    if (bytes <= limits.answerBytes) return payload
    // A client that reads nothing for that long loses its connection.
    socket.setTimeout(limits.answerMs)
    sending.set(reply.raw, bytes)
    waiting += bytes
    void overOf(reply.raw, socket).then(() => drop(reply.raw))
    cutSlow()
    return payload
  })

  return {
    /** Counts a stream for the token that asked, until its socket closes. Refused over the limit. */
    stream(request: FastifyRequest) {
      const name = nameOf(request)
      const line = lineOf(name)
      const { streamsPerToken: limit } = limits
      if (line.streams >= limit) throw faults.too_many_streams({ limit })
      line.streams += 1
      request.leave?.()
      request.raw.socket.once('close', () => {
        line.streams -= 1
        tidy(name, line)
      })
    },
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Frees the place among the requests of its token; null where none was taken. */
    leave: (() => void) | null
  }
}
