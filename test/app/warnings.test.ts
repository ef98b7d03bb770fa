import { afterEach, expect, test, vi } from 'vitest'
import { atLevel, limitedWarn, logLevel } from '../../src/app/warnings.ts'

test('F-103, F-111 warnings: at most five of a kind pass in a minute, and the next one counts those left out', () => {
  let now = 0
  const told: [string, object][] = []
  const warn = limitedWarn(
    (message, details) => told.push([message, details]),
    () => now,
  )
  for (let i = 0; i < 1_000; i++) warn('the queue reports a problem', { i })
  warn('another', { i: 0 })
  expect(told).toHaveLength(6)
  now = 60_000
  warn('the queue reports a problem', { i: 1_000 })
  expect(told.at(-1)).toEqual(['the queue reports a problem', { i: 1_000, left_out: 995 }])
})

afterEach(() => vi.unstubAllEnvs())

test('F-31 STATEWRIGHT_LOG: it names the level, and an unknown one is refused with the known levels', () => {
  vi.stubEnv('STATEWRIGHT_LOG', '')
  expect(logLevel('info')).toBe('info')
  vi.stubEnv('STATEWRIGHT_LOG', 'debug')
  expect(logLevel('info')).toBe('debug')
  vi.stubEnv('STATEWRIGHT_LOG', 'loud')
  expect(() => logLevel('info')).toThrow(/STATEWRIGHT_LOG is "loud"[\s\S]*debug, info, warn/)
})

test.each([
  ['debug', ['info', 'debug']],
  ['info', ['info']],
  ['warn', []],
] as const)('F-31 log: at the level %s it writes %j', (level, expected) => {
  const written: string[] = []
  const log = atLevel(level, { info: () => void written.push('info'), debug: () => void written.push('debug') })
  log.info('a', {})
  log.debug('b', {})
  expect(written).toEqual(expected)
})
