import { existsSync } from 'node:fs'

// A checkout runs its sources, so that what was just edited is what runs; a
// package has no sources and runs what was built from them.
const source = new URL('../src/main.ts', import.meta.url)
const built = new URL('../dist/main.js', import.meta.url)
const entry = existsSync(source) && process.features.typescript ? source : built

const { main } = await import(entry.href)

// Node ends when nothing can happen any more. If that is before we are done, say so: it must not look like success.
process.exitCode = 1
const unfinished = () =>
  process.stderr.write(
    'It ended before it was done: it waited for something that cannot come, perhaps in the config.\n',
  )
process.once('exit', unfinished)
// An error that ends the process says so itself.
process.on('uncaughtExceptionMonitor', () => process.off('exit', unfinished))
try {
  process.exitCode = await main(process.argv.slice(2))
} finally {
  process.off('exit', unfinished)
  // The next process finds out what is unknown: work that hangs must not keep this one, and its lock.
  if (process.exitCode === 8) setTimeout(() => process.exit(), 500).unref()
}
