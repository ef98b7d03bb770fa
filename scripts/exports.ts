/** Fails on exports that no other file imports, that only tests use, or that have no TSDoc. */
import { exportReport } from './unused-exports.ts'

const { exports, ...found } = exportReport(process.cwd())
const meanings = { unused: 'unused', testOnly: 'only tests use', undocumented: 'no TSDoc' } as const
for (const [kind, meaning] of Object.entries(meanings) as [keyof typeof found, string][])
  for (const each of found[kind]) console.error(`${meaning}: ${each}`)
console.log(
  `exports: ${exports}, ${found.unused.length} unused, ${found.testOnly.length} only for tests, ${found.undocumented.length} without TSDoc`,
)
process.exitCode = Object.values(found).some((each) => each.length > 0) ? 1 : 0
