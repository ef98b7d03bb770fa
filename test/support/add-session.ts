import { closeStore, openStore } from '../../src/app/open-store.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { created } from './drafts.ts'

/** Puts the session `ses_1` into a store, which is made if it is missing, and closes the store. */
export async function addSession(store: string): Promise<void> {
  const opened = await openStore(store)
  accepted(await opened.runelog.append({ session_id: 'ses_1', runes: [created('ses_1')] }))
  await closeStore(opened)
}
