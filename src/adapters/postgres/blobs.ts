import { hash } from 'node:crypto'
import type pg from 'pg'
import { long, othersTurn } from '../../runelog/slices.ts'
import { type Blobs, sound } from '../../runtime/blobs.ts'

/** In a table, as bytes: unlike text they may hold anything. */
export function postgresBlobs(pool: pg.Pool): Blobs {
  return {
    async keep(text) {
      const bytes = Buffer.from(text)
      if (text.length > long) await othersTurn()
      const ref = `blob_${hash('sha256', bytes)}`
      await pool.query('INSERT INTO statewright.blob (ref, content) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
        ref,
        bytes,
      ])
      return ref
    },
    async fetch(ref) {
      const { rows } = await pool.query<{ content: Buffer }>('SELECT content FROM statewright.blob WHERE ref = $1', [
        ref,
      ])
      return rows[0] === undefined ? undefined : sound(ref, rows[0].content)
    },
    async erase(refs) {
      await pool.query('DELETE FROM statewright.blob WHERE ref = ANY($1)', [refs])
    },
  }
}
