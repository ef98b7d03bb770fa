import { loadPeer } from '../peer.ts'

/** The queue. Apart from the driver: a store that is only read needs no queue. */
export const { Logger, runMigrations, runTaskList } = await loadPeer('graphile-worker')
