import type * as sqlite from 'node:sqlite'

/** Not imported: an import would fail on an older Node before the entry point can print which version it needs. */
export const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
/** A connection of node:sqlite. */
export type DatabaseSync = sqlite.DatabaseSync
