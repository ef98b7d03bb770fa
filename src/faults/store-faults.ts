import type { FaultRow } from './fault.ts'

/** What a store and its files answer. A part of the catalogue. */
export const storeFaults = {
  store_poisoned: {
    http: 503,
    retry: 'later',
    says: (d: { outcome: 'unknown'; cause: string }) =>
      `The store stopped after an error while writing (${d.cause}). Whether the last append was recorded is unknown; open the store again and read.`,
  },
  store_closed: {
    http: 503,
    retry: 'later',
    says: (d: { store: string }) => `${d.store} was closed by this process; open it again to go on.`,
  },
  store_locked: {
    http: 503,
    retry: 'later',
    says: (d: { store: string; pid: number; address?: string | null }) =>
      `${d.store} is held by ${d.pid === 0 ? 'another process' : `process ${d.pid}`}${d.address == null ? '' : `, a server at ${d.address}`}; stop that one, or ask it for what you need.`,
  },
  store_unusable: {
    http: 503,
    retry: 'never',
    says: (d: { store: string; problem: string }) => `${d.store} cannot be used: ${d.problem}`,
  },
  store_damaged: {
    http: 500,
    retry: 'never',
    says: (d: { what: string; problem: string }) =>
      `The store is damaged. ${d.what}: ${d.problem} Keep its files; "statewright verify" names all damage, and a backup restores it.`,
  },
  file_unusable: {
    http: 422,
    retry: 'never',
    says: (d: { file: string; problem: string }) => `${d.file} cannot be used: ${d.problem}`,
  },
  store_unreachable: {
    http: 503,
    retry: 'later',
    says: (d: { store: string; cause: string }) =>
      `${d.store} cannot be reached (${d.cause}). Nothing of this request was recorded; it may be sent again.`,
  },
  segment_unwritable: {
    http: 503,
    retry: 'later',
    says: (d: { session_id: string; folder: string; cause: string }) =>
      `A segment of ${d.session_id} could not be written to ${d.folder} (${d.cause}). Nothing was changed; its runes are where they were.`,
  },
} as const satisfies Readonly<Record<string, FaultRow>>
