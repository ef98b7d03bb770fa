import type { Problem } from '../schemas/problem.ts'
import type { RegistryEntry } from '../schemas/registry.ts'

/** What entries say about each other must be true: parents exist, workflows name known commands and phases. */
export function linkProblems(admitted: readonly { name: string; entry: RegistryEntry }[]): Problem[] {
  const versions = new Set(admitted.map(({ entry }) => `${entry.kind} ${entry.id} ${entry.version}`))
  const commands = new Set(admitted.flatMap(({ entry }) => (entry.kind === 'command' ? [entry.id] : [])))
  return admitted.flatMap(({ name, entry }) => {
    const problems: Problem[] = []
    const say = (message: string) => problems.push({ code: 'link_broken', message, path: name, refs: [entry.id] })
    if ('parent_version' in entry.lineage && !versions.has(`${entry.kind} ${entry.id} ${entry.lineage.parent_version}`))
      say(`its parent version ${entry.lineage.parent_version} is not in the registry`)
    if (entry.kind !== 'workflow') return problems
    const phases = entry.phases.map(({ phase }) => phase)
    if (new Set(phases).size < phases.length) say('it lists a phase twice')
    for (const { phase, commands: listed, after = [] } of entry.phases) {
      for (const id of listed)
        if (!commands.has(id)) say(`phase ${phase} lists ${id}, which is not a command of the registry`)
      for (const before of after)
        if (!phases.includes(before)) say(`phase ${phase} follows ${before}, which it does not have`)
    }
    return problems
  })
}
