import { faults } from '../../faults/catalogue.ts'
import type { ReadModel } from '../read-model.ts'

export type Epoch = { readonly epoch: number }

/** Which holder of a run may write. Taking a run and taking it away both raise the epoch; nothing lowers it. */
export const epochs: ReadModel<Epoch> = {
  name: 'epochs',
  version: 1,
  keys: (rune) =>
    rune.kind === 'run.moved' && rune.payload.epoch !== undefined && rune.subject_id !== undefined
      ? [rune.subject_id]
      : [],
  fold(row, rune, key) {
    const actual = row?.value.epoch ?? 0
    const epoch = rune.kind === 'run.moved' ? rune.payload.epoch : undefined
    if (epoch === undefined) return row
    if (epoch <= actual) return faults.stale_fence({ run_id: key, epoch, actual })
    return { key, tag: null, sort: null, value: { epoch } }
  },
}
