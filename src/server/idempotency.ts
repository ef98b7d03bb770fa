import { faults } from '../faults/catalogue.ts'
import type { Backend } from '../surface/backend.ts'
import type { Limits } from './limits.ts'

interface Answer {
  readonly status: number
  readonly body: string
  /** The record had it already. */
  readonly isReplayed?: boolean
}

interface Kept {
  readonly fingerprint: string
  readonly at: number
  /** Undefined while it is being carried out. */
  answer: Answer | undefined
}

/**
 * Keeps the answers to requests with a key, for a day and up to a limit. If none is kept, the record gives the answer. On
 * a shared store none is kept: another process may erase content that the answer repeats.
 */
export function createKeptAnswers(limits: Limits, { now, isExclusive }: Pick<Backend, 'now' | 'isExclusive'>) {
  const kept = new Map<string, Kept>()
  let erasures = 0

  function makeRoom() {
    for (const [key, { at, answer }] of kept) {
      const isOld = now() - at >= limits.keptAnswersMs
      if (!isOld && kept.size < limits.keptAnswers) return
      if (answer !== undefined) kept.delete(key)
      else if (!isOld) return
    }
  }

  return {
    /** Returns the answer that the same request got. Otherwise carries it out and keeps the answer. */
    async once(place: string, idempotency_key: string, fingerprint: string, carryOut: () => Promise<Answer>) {
      const key = JSON.stringify([place, idempotency_key])
      const known = kept.get(key)
      if (known !== undefined) {
        if (known.fingerprint !== fingerprint) throw faults.key_reused({ idempotency_key, what: place })
        if (known.answer === undefined) throw faults.request_under_way({ idempotency_key })
        return { ...known.answer, isReplayed: true }
      }
      makeRoom()
      const entry: Kept = { fingerprint, at: now(), answer: undefined }
      const seen = erasures
      kept.set(key, entry)
      try {
        const answer = await carryOut()
        // It may repeat content that was erased while it was being made.
        if (isExclusive && seen === erasures) entry.answer = answer
        else kept.delete(key)
        return { ...answer, isReplayed: answer.isReplayed === true }
      } catch (error) {
        // A refused request may be accepted later, and one with an unknown outcome must reach the record again.
        kept.delete(key)
        throw error
      }
    },
    /** Content was erased, and any answer may repeat it. From now on answers follow from the record. */
    forget() {
      erasures += 1
      for (const [key, { answer }] of kept) if (answer !== undefined) kept.delete(key)
    },
    size: () => kept.size,
  }
}

/** Reads the header. The IETF draft puts the key in quotes; most clients leave them out. */
export function readKey(header: string | readonly string[] | undefined): string | null {
  if (header === undefined) return null
  if (typeof header !== 'string') throw faults.key_unusable({ problem: 'there is more than one.' })
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header
  if (!/^[\x21-\x7e]{1,200}$/.test(key))
    throw faults.key_unusable({ problem: 'it must be 1 to 200 visible ASCII characters, without spaces.' })
  return key
}
