import { accepted } from '../../src/faults/catalogue.ts'
import type { Runelog, RunelogReader } from '../../src/runelog/port.ts'
import type { Draft } from '../../src/runes/rune.ts'

// Files that share a process also share the modules that the first of them wrapped.
const shared = globalThis as { logs?: WeakMap<RunelogReader, RunelogReader> }
shared.logs ??= new WeakMap()
const { logs } = shared

export function keepLog(shown: RunelogReader, whole: RunelogReader) {
  logs?.set(shown, whole)
}

/** The whole runelog of a Statewright, which shows only what reads: a test writes its own runes this way. */
export function writable({ runelog }: { readonly runelog: RunelogReader }): Runelog {
  const whole = logs?.get(runelog)
  if (whole === undefined) throw new Error('This Statewright was opened without test/support/keep-logs.ts.')
  return whole as Runelog
}

/** Records a rune that the runtime did not decide. */
export async function record(sw: { readonly runelog: RunelogReader }, session_id: string, rune: Draft): Promise<void> {
  accepted(await writable(sw).append({ session_id, runes: [rune] }))
}
