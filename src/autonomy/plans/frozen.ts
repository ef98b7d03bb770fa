import { coordinationOf } from '../../coordinator/coordinate.ts'
import { listArtifacts } from '../../coordinator/outputs/artifacts.ts'
import { type FrozenFiles, freeze } from '../../coordinator/outputs/freeze.ts'
import type { Signer } from '../../coordinator/outputs/statement.ts'
import type { Ports, Progress } from '../../coordinator/progress.ts'
import { faults } from '../../faults/catalogue.ts'
import { asJson, type Json } from '../../kernel/json.ts'
import type { Blobs } from '../../runtime/store.ts'
import type { PlanDocuments, PlanFile } from './plans.ts'

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
  const made = listArtifacts(artifacts).map(({ name, artifact }) => [name, asJson(artifact)] as const)
  return { ...Object.fromEntries(made), run_tape: asJson(tape), lineage: asJson(lineage) }
}

/** Keeps everything that an ended coordination leaves behind. It is safe before the rune that names it is written. */
export async function keepFrozen(
  progress: Progress,
  ports: Ports,
  blobs: Blobs,
  signer: Signer | undefined,
): Promise<readonly PlanFile[]> {
  const files = freeze(coordinationOf(progress, ports), progress.input, ports, signer)
  return Promise.all(
    Object.keys(files)
      .sort()
      .map(async (name) => ({ name, ref: await blobs.keep(files[name] ?? '') })),
  )
}

/** The frozen files by name. Refused if a text is no longer stored. */
export async function fetchFrozen(files: readonly PlanFile[], blobs: Blobs): Promise<FrozenFiles> {
  const texts = await Promise.all(
    files.map(async ({ name, ref }) => {
      const text = await blobs.fetch(ref)
      if (text === undefined) throw faults.not_found({ what: 'output', id: `${ref} (${name})` })
      return [name, text] as const
    }),
  )
  return Object.fromEntries(texts)
}
