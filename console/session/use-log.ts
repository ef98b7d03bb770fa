import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import type { Rune } from '../../src/runes/rune.ts'
import { openLog, type SessionLog } from './log.ts'

/** One log per session for as long as a page shows it. */
export function useLog(session_id: string): SessionLog {
  const log = useMemo(() => openLog(session_id), [session_id])
  useEffect(() => () => log.close(), [log])
  useSyncExternalStore(log.listen, log.version)
  return log
}

interface Fold {
  readonly take: (rune: Rune) => void
}

/** Folds the runes of a log as they come; from the beginning when earlier ones were found. */
export function useFold<T extends Fold>(log: SessionLog, create: () => T): T {
  const held = useRef<{ log: SessionLog; earlier: number; taken: number; fold: T } | undefined>(undefined)
  if (held.current?.log !== log || held.current.earlier !== log.earlier())
    held.current = { log, earlier: log.earlier(), taken: 0, fold: create() }
  const { current } = held
  for (; current.taken < log.runes.length; current.taken++) current.fold.take(log.runes[current.taken] as Rune)
  return current.fold
}
