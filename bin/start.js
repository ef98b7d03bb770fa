import { existsSync } from 'node:fs'

// A checkout runs its sources, so that what was just edited is what runs; a
// package has no sources and runs what was built from them.
const source = new URL('../src/main.ts', import.meta.url)
const built = new URL('../dist/main.js', import.meta.url)
const entry = existsSync(source) && process.features.typescript ? source : built

const { main } = await import(entry.href)
process.exitCode = await main(process.argv.slice(2))
