/** Checks every import against the rooms, and that every source file was really looked at. */
import { globSync } from 'node:fs'
import { cruise, type ICruiseResult } from 'dependency-cruiser'
import extractConfig from 'dependency-cruiser/config-utl/extract-depcruise-options'

const options = await extractConfig('./.dependency-cruiser.mjs')
const folders = ['src', 'console'].filter((folder) => globSync(`${folder}/**/*.ts`).length > 0)
const { output } = await cruise(folders, options)
const { summary, modules } = output as ICruiseResult

const seen = new Set(modules.map((module) => module.source))
const missed = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`)).filter((file) => !seen.has(file))

for (const { rule, from, to } of summary.violations) console.error(`${rule.name}: ${from} → ${to}`)
for (const file of missed) console.error(`not cruised: ${file}`)
console.log(`rooms: ${modules.length} modules, ${summary.violations.length} violations, ${missed.length} not cruised`)
process.exitCode = summary.violations.length > 0 || missed.length > 0 || modules.length === 0 ? 1 : 0
