/** Removes the declarations that no entry point reaches. A package that declarations name must be one that users have. */
import { globSync, rmSync } from 'node:fs'
import { reachable } from './declarations.ts'

const { files, packages } = reachable('dist')
const strange = packages.filter((name) => name.split('/')[0] !== 'zod' && !name.startsWith('node:'))
for (const name of strange) console.error(`declarations: the public types need ${name}, which users may not have`)
if (strange.length > 0) process.exitCode = 1
let removed = 0
for (const file of globSync('dist/**/*.d.ts'))
  if (!files.has(file)) {
    rmSync(file)
    rmSync(`${file}.map`, { force: true })
    removed++
  }
console.log(`declarations: ${files.size} are public, ${removed} were removed`)
