import { afterEach, expect, test, vi } from 'vitest'
import { atLevel, logLevel } from '../../src/app/log-level.ts'

afterEach(() => vi.unstubAllEnvs())

test('F-31 STATEWRIGHT_LOG: it names the level, and an unknown one is refused with those there are', () => {
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
