/** Fails when an import breaks a rule of the rooms, or when the check did not really look. */
import { cruiseRooms } from './cruise-rooms.ts'
import { outsideProblems } from './outside-imports.ts'

const cruised = await cruiseRooms(process.cwd())
const problems = [...cruised.problems, ...outsideProblems(process.cwd())]
for (const problem of problems) console.error(problem)
console.log(`rooms: ${cruised.modules} modules, ${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1
