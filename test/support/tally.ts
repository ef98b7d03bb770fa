import { afterAll } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Rows for the table that the reporter prints after the run. */
    tally?: readonly TallyRow[]
  }
}

export interface TallyRow {
  readonly what: string
  readonly tried: number
  /** Results that no rule explains; the suite fails unless this is 0. */
  readonly unexplained: number
}

/**
 * Counts what a test file tried. Call it once at the top level of the file;
 * the reporter adds up rows with the same name and prints them as a table.
 */
export function createTally() {
  const rows = new Map<string, { tried: number; unexplained: number }>()
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the parameter's source and accepts nothing else.
  afterAll(({}, suite) => {
    suite.meta.tally = [...rows].map(([what, counts]) => ({ what, ...counts }))
  })
  return {
    count(what: string, tried = 1, unexplained = 0): void {
      const row = rows.get(what) ?? { tried: 0, unexplained: 0 }
      rows.set(what, { tried: row.tried + tried, unexplained: row.unexplained + unexplained })
    },
  }
}
