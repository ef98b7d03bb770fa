import { addAbortListener, once } from 'node:events'
import { expect, test } from 'vitest'
import { createRedactor } from '../../src/runelog/redactor.ts'
import { guardListeners } from '../../src/runtime/live-signal.ts'

function guarded() {
  const controller = new AbortController()
  const warnings: object[] = []
  const warn = (_: string, details: object) => void warnings.push(details)
  const signal = guardListeners(controller.signal, { warn, redactor: createRedactor({}) }, { call_id: 'call_1' })
  return { controller, signal, warnings }
}

const fail = (error: string) => () => {
  throw new Error(error)
}

test('F-88 abort signal: a listener that throws is a warning, and the others hear of the abort', async () => {
  const { controller, signal, warnings } = guarded()
  const heard: string[] = []
  signal.addEventListener('abort', fail('function'))
  signal.addEventListener('abort', { handleEvent: fail('object') })
  signal.addEventListener('abort', () => Promise.reject(new Error('async')))
  signal.onabort = fail('property')
  signal.addEventListener('abort', () => heard.push('last'), { once: true })
  addAbortListener(signal, () => heard.push('node'))
  const derived = AbortSignal.any([signal])
  controller.abort()
  await new Promise((resolve) => setImmediate(resolve))
  expect(heard.toSorted()).toEqual(['last', 'node'])
  expect(derived.aborted).toBe(true)
  const told = ['function', 'object', 'property', 'async'].map((error) => ({ call_id: 'call_1', error }))
  expect(warnings).toHaveLength(told.length)
  expect(warnings).toEqual(expect.arrayContaining(told))
})

test('F-88 abort signal: a listener that was removed is not called, and one that was added twice is called once', () => {
  const { controller, signal } = guarded()
  const heard: string[] = []
  const [twice, removed] = [() => heard.push('twice'), () => heard.push('removed')]
  signal.addEventListener('abort', twice)
  signal.addEventListener('abort', twice)
  signal.addEventListener('abort', removed)
  signal.removeEventListener('abort', removed)
  signal.onabort = removed
  signal.onabort = null
  controller.abort()
  expect(heard).toEqual(['twice'])
})

test('F-88 abort signal: waits of Node itself end with the abort', async () => {
  const { controller, signal } = guarded()
  const waiting = once(new EventTarget(), 'never', { signal })
  controller.abort()
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
})
