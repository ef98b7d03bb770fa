import { accepted } from '../../src/faults/catalogue.ts'
import type { Runelog, RunelogReader } from '../../src/runelog/port.ts'
import type { Draft } from '../../src/runes/rune.ts'

/** The whole runelog of a Statewright, whose public type only reads: what a test writes itself goes this way. */
export function writable({ runelog }: { readonly runelog: RunelogReader }): Runelog {
  return runelog as Runelog
}

/** Records a rune that the runtime did not decide. */
export async function record(sw: { readonly runelog: RunelogReader }, session_id: string, rune: Draft): Promise<void> {
  accepted(await writable(sw).append({ session_id, runes: [rune] }))
}
