import { loadPeer } from '../peer.ts'

/** Loads the driver: only a process that uses PostgreSQL needs it. */
export const loadDriver = async () => (await loadPeer('pg')).default
