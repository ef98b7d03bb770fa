import { existsSync } from 'node:fs'

// A checkout runs its sources. An installed package runs what was built from them: Node strips no types in node_modules.
const isCheckout = existsSync(new URL('../tsconfig.build.json', import.meta.url)) && process.features.typescript
const entry = new URL(isCheckout ? '../src/main.ts' : '../dist/main.js', import.meta.url)

const { main } = await import(entry.href)

// Node exits when no work is left. An exit before `main` has resolved must not look like success.
process.exitCode = 1
const unfinished = () =>
  process.stderr.write(
    'The process ended before the command was done: a promise never resolved, perhaps one in the config.\n',
  )
process.once('exit', unfinished)
// An uncaught error prints its own message.
process.on('uncaughtExceptionMonitor', () => process.off('exit', unfinished))
try {
  process.exitCode = await main(process.argv.slice(2))
} finally {
  process.off('exit', unfinished)
  // Exit code 8 leaves work that hangs. It must not keep this process, and the lock of the store, alive.
  if (process.exitCode === 8) setTimeout(() => process.exit(), 500).unref()
}
