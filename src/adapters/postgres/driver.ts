import { loadPeer } from '../peer.ts'

/** The driver, loaded with the first module that opens a connection. */
export const { Client, Pool } = (await loadPeer('pg')).default
