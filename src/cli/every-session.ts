import type { Client } from '../surface/client.ts'
import { listSessions } from '../surface/operations/sessions.ts'

type SessionPage = Awaited<ReturnType<typeof listSessions.run>>

/** The ids of all sessions, page by page. */
export async function everySession(client: Client): Promise<readonly string[]> {
  const ids: string[] = []
  for (let cursor: string | undefined; ; ) {
    const page: SessionPage = await client.call(listSessions, { query: { limit: 200, ...(cursor && { cursor }) } })
    for (const { session_id } of page.items) ids.push(session_id)
    if (page.next_cursor === null) return ids.toSorted()
    cursor = page.next_cursor
  }
}
