import { loadPeer } from '../peer.ts'

/** The queue. In a module of its own: a store that is only read does not load it. */
export const { Logger, runMigrations, runTaskList } = await loadPeer('graphile-worker')
