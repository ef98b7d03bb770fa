import type { Act } from './act.ts'
import type { System } from './append.ts'
import { effectsOf, holdersWork, takingBy } from './holder.ts'
import { lifeOf, people, recovery, sessionCommands } from './outside.ts'
import { type Setting, type World, workers } from './world.ts'

/** Everything that may happen next. */
export function actsOf(system: System, setting: Setting, world: World): Act[] {
  return [
    ...workers.flatMap((worker) => [
      ...lifeOf(world, worker),
      ...takingBy(world, worker),
      ...(world.run === 'running' && world[worker] === 'holding' ? holdersWork(system, setting, world, worker) : []),
      ...effectsOf(system, world, worker),
    ]),
    ...recovery(world),
    ...people(world),
    ...sessionCommands(world),
  ]
}
