import { coordinationOf } from '../../coordinator/coordinate.ts'
import type { Signer } from '../../coordinator/outputs/dsse.ts'
import { type FrozenFiles, freeze } from '../../coordinator/outputs/freeze.ts'
import type { Ports, Progress } from '../../coordinator/progress.ts'
import { faults } from '../../faults/catalogue.ts'
import type { Blobs } from '../../runtime/blobs.ts'
import type { PlanFile } from './plans.ts'

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
