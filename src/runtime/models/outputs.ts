import type { FoldableRune, ReadModel } from '../../runelog/read-model.ts'

/**
 * Which sessions refer to a kept output in a rune that is public. The text of an output is stored once under its hash,
 * for all producers, so the reference alone does not say who may read it.
 */
export const outputs: ReadModel<{ event_id: number }> = {
  name: 'outputs',
  version: 1,
  keys: (rune) => refsIn(rune).map((ref) => outputKey(ref, rune.session_id)),
  fold: (_row, { at, event_id }, key) => ({ key, tag: null, sort: at, value: { event_id } }),
}

/** Without a session: what the keys of an output begin with. */
export function outputKey(ref: string, session_id = ''): string {
  return `${ref} ${session_id}`
}

function refsIn({ kind, payload, visibility }: FoldableRune): readonly string[] {
  if (visibility !== 'public') return []
  if (kind === 'tool.result') return payload.output_ref === undefined ? [] : [payload.output_ref]
  return kind === 'coordination.frozen' ? payload.files.map(({ ref }) => ref) : []
}
