import { useEffect, useState } from 'react'
import type { Rune } from '../../src/runes/rune.ts'
import type { QueryOf } from '../../src/wire/endpoint.ts'
import { type RunesPage, runeEndpoints } from '../../src/wire/rune.ts'
import { type Answer, ask } from '../api/request.ts'

const kinds = 'contract.,tool.,interaction.,run.moved'

/** The runes of a session that a contract may be concerned in, oldest first. */
export function useConcerning(session_id: string | undefined, version: string): readonly Rune[] {
  const [runes, setRunes] = useState<readonly Rune[]>([])
  // A new version loads the runes again.
  useEffect(() => {
    if (session_id === undefined) return
    const leave = new AbortController()
    void load(session_id, leave.signal).then((found) => {
      if (!leave.signal.aborted) setRunes(found)
    })
    return () => leave.abort()
  }, [session_id, version])
  return runes
}

async function load(session_id: string, signal: AbortSignal): Promise<readonly Rune[]> {
  const found: Rune[] = []
  for (let after: number | null = 0; after !== null && !signal.aborted; ) {
    const query: QueryOf<typeof runeEndpoints.listRunes> = { after, limit: 1_000, kinds }
    const answer: Answer<RunesPage> = await ask(runeEndpoints.listRunes, { params: { session_id }, query }, signal)
    if (!answer.ok) break
    found.push(...answer.value.items)
    after = answer.value.next
  }
  return found
}
