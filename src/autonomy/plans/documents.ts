import { coordinationOf } from '../../coordinator/coordinate.ts'
import { listArtifacts } from '../../coordinator/outputs/artifacts.ts'
import type { FrozenFiles } from '../../coordinator/outputs/freeze.ts'
import type { Ports, Progress } from '../../coordinator/progress.ts'
import type { Json } from '../../kernel/json.ts'

/** Everything that a coordination has made, by the name of its file without the ending; rounds are numbered. */
export type PlanDocuments = Readonly<Record<string, Json>>

/** Of one that has ended: what is frozen. */
export function documentsIn(files: FrozenFiles): PlanDocuments {
  const documents = Object.entries(files).flatMap(([name, text]) =>
    name.endsWith('.json') ? [[name.slice(0, -'.json'.length), JSON.parse(text) as Json] as const] : [],
  )
  return Object.fromEntries(documents)
}

/** Of one under way: what it has made so far. */
export function documentsOf(progress: Progress, ports: Ports): PlanDocuments {
  const { artifacts, tape, lineage } = coordinationOf(progress, ports)
  const made = listArtifacts(artifacts).map(({ name, artifact }) => [name, artifact as Json] as const)
  return { ...Object.fromEntries(made), run_tape: tape as unknown as Json, lineage: lineage as unknown as Json }
}
