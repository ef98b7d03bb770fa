/**
 * A file beside a store that the store does not refer to. `draft`: a process was killed while it wrote it. `copy`:
 * every event in it is in the store, too. `only_copy`: the store lacks events that it holds, as when an older database
 * was restored beside it. `unreadable`: it is damaged, or no file of ours.
 */
export interface Stray {
  readonly file: string
  readonly holds: 'draft' | 'copy' | 'only_copy' | 'unreadable'
  readonly session_id: string | null
  readonly events: number
}

/** Whether nothing is lost with it. */
export function mayGo({ holds }: Stray): boolean {
  return holds === 'draft' || holds === 'copy'
}
