/** Prints where each requirement is played, and fails when one is not played from outside. */
import { globSync, readFileSync } from 'node:fs'
import { coverage } from './requirement-coverage.ts'

const read = (file: string) => readFileSync(file, 'utf8')
const files = globSync('test/**/*.ts')
const isOutside = (file: string) => file.startsWith('test/outside/')
const { rows, problems } = coverage(read('spec/requirements.md'), {
  inside: files.filter((file) => !isOutside(file)).map(read),
  outside: files.filter(isOutside).map(read),
})

for (const { id, played } of rows) console.log(`${id}  ${played}`)
const count = (...where: readonly string[]) => rows.filter(({ played }) => where.includes(played)).length
console.log(
  `requirements: ${count('outside', 'both')} of ${rows.length} played from outside, ${count('both')} in both ways`,
)
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
