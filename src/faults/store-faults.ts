import { broken, unavailable, unfit } from './fault.ts'

/** What a store and its files answer. A part of the catalogue. */
export const storeFaults = {
  store_poisoned: broken({
    meaning: 'A write failed, and the store cannot know whether the append is on disk.',
    remedy: 'Open the store again and read what was recorded before you repeat anything.',
    says: (d: { outcome: 'unknown'; cause: string }) =>
      `The store stopped after an error while writing (${d.cause}). Whether the last append was recorded is unknown; open the store again and read.`,
  }),
  store_closed: broken({
    meaning: 'This process closed the store.',
    remedy: 'Open the store again.',
    says: (d: { store: string }) => `${d.store} was closed by this process; open it again to go on.`,
  }),
  store_locked: broken({
    meaning: 'Another process holds the store.',
    remedy: 'Stop that process, or send the request to it.',
    says: (d: { store: string; pid: number; address?: string | null }) =>
      `${d.store} is held by ${d.pid === 0 ? 'another process' : `process ${d.pid}`}${d.address == null ? '' : `, a server at ${d.address}`}; stop it, or send the request to it.`,
  }),
  store_unusable: broken({
    retry: 'never',
    meaning: 'The store cannot be opened or used as it is.',
    remedy: 'Fix the cause that the message names, then open the store.',
    says: (d: { store: string; problem: string }) => `${d.store} cannot be used: ${d.problem}`,
  }),
  store_damaged: broken({
    http: 500,
    retry: 'never',
    meaning: 'The files of the store do not follow from its log.',
    remedy: 'Keep the files, run "statewright verify", and restore a backup.',
    says: (d: { what: string; problem: string }) =>
      `The store is damaged. ${d.what}: ${d.problem} Keep its files; "statewright verify" names all damage, and a backup restores it.`,
  }),
  file_unusable: unfit({
    meaning: 'A file or folder cannot be read or written.',
    remedy: 'Correct the path or its permissions.',
    says: (d: { file: string; problem: string }) => `${d.file} cannot be used: ${d.problem}`,
  }),
  store_unreachable: broken({
    meaning: 'The database does not answer.',
    remedy: 'Make the database reachable and send the request again.',
    says: (d: { store: string; cause: string }) =>
      `${d.store} cannot be reached (${d.cause}). Nothing of this request was recorded; it may be sent again.`,
  }),
  segment_unwritable: unavailable({
    meaning: 'The archive of a session could not be written. Its log is unchanged.',
    remedy: 'Make the folder writable or free some space, then archive again.',
    says: (d: { session_id: string; folder: string; cause: string }) =>
      `A segment of ${d.session_id} could not be written to ${d.folder} (${d.cause}). Nothing was changed; its runes are where they were.`,
  }),
}
