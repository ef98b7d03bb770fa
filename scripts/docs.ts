/** Writes the generated reference; with --check it only says which pages are stale, and fails if any is. */
import { fileURLToPath } from 'node:url'
import { pages } from './docs/pages.ts'
import { stalePages, writePages } from './docs/write.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const stale = stalePages(root, pages)
if (process.argv.includes('--check')) {
  for (const path of stale) console.error(`${path} is stale: run "npm run docs" and commit it.`)
  process.exitCode = stale.length === 0 ? 0 : 1
} else writePages(root, pages)
console.log(`docs: ${pages.length} pages, ${stale.length} were stale`)
