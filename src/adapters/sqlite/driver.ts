import type * as sqlite from 'node:sqlite'

/** Asked for and not imported: an import would fail on an older Node before the entry point can say what is needed. */
export const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
/** A connection of node:sqlite. */
export type DatabaseSync = sqlite.DatabaseSync
