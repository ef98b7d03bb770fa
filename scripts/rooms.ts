/** Fails when an import breaks a rule of the rooms, or when the check did not really look. */
import { cruiseRooms } from './cruise-rooms.ts'

const { modules, problems } = await cruiseRooms(process.cwd())
for (const problem of problems) console.error(problem)
console.log(`rooms: ${modules} modules, ${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1
