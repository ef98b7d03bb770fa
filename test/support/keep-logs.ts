import { vi } from 'vitest'
import { keepLog } from './writable.ts'

/** `sw.runelog` only reads. A test that writes runes itself gets the log that the store opened, by `writable`. */
vi.mock('../../src/app/library-arguments.ts', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../src/app/library-arguments.ts')>()
  const checkingArguments: typeof original.checkingArguments = (sw, ...more) => {
    const checked = original.checkingArguments(sw, ...more)
    keepLog(checked.runelog, sw.runelog)
    return checked
  }
  return { ...original, checkingArguments }
})
