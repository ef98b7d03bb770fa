/** Fails on exports that no other file imports, that only tests use, or that have no TSDoc, and on members of public types without it. */
import { globSync } from 'node:fs'
import { undocumentedMembers } from './members.ts'
import { exportReport } from './unused-exports.ts'

const { exports, ...lists } = exportReport(process.cwd())
const entries = ['src/index.ts', ...globSync('src/entry/*.ts')]
const found = { ...lists, members: undocumentedMembers(entries) }
const meanings = {
  unused: 'unused',
  testOnly: 'only tests use',
  undocumented: 'no TSDoc',
  members: 'no TSDoc',
} as const
for (const [kind, meaning] of Object.entries(meanings) as [keyof typeof found, string][])
  for (const each of found[kind]) console.error(`${meaning}: ${each}`)
console.log(
  `exports: ${exports}, ${found.unused.length} unused, ${found.testOnly.length} only for tests, ${found.undocumented.length + found.members.length} without TSDoc`,
)
process.exitCode = Object.values(found).some((each) => each.length > 0) ? 1 : 0
