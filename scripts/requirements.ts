/** Lists the requirements that no scenario plays, and holds the committed list of them to getting shorter. */
import { globSync, readFileSync } from 'node:fs'
import { coverage } from './requirement-coverage.ts'

const sources = globSync('test/**/*.ts').map((file) => readFileSync(file, 'utf8'))
const allowed = JSON.parse(readFileSync('spec/unplayed.json', 'utf8')) as readonly string[]
const { ids, played, unplayed, problems } = coverage(readFileSync('spec/requirements.md', 'utf8'), sources, allowed)

console.log(`requirements: ${played.length} of ${ids.length} played, ${unplayed.length} not played`)
if (unplayed.length > 0) console.log(`not played: ${unplayed.join(' ')}`)
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
