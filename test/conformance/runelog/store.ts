import { expect, onTestFinished } from 'vitest'
import { accepted } from '../../../src/faults/catalogue.ts'
import { canonicalJson, type Json } from '../../../src/kernel/json.ts'
import { claims, epochs, sessions, subjects } from '../../../src/runelog/models.ts'
import type { ReadModel, Row, Runelog, RunelogOptions } from '../../../src/runelog/port.ts'
import type { Draft, Rune } from '../../../src/runes/rune.ts'
import type { BadEvent } from '../../../src/runes/verify.ts'
import { created } from '../../support/drafts.ts'
import { verifierOf } from '../../support/verifier.ts'

export interface StoreUnderTest {
  readonly runelog: Runelog
  /** Closes the store and opens the same data again; absent where the data ends with the process. */
  readonly reopen?: (options?: RunelogOptions) => Promise<Runelog>
  readonly dispose: () => Promise<void>
}

export type OpenStore = (options?: RunelogOptions) => Promise<StoreUnderTest>

export async function fresh(open: OpenStore, options?: RunelogOptions): Promise<StoreUnderTest> {
  const store = await open(options)
  onTestFinished(store.dispose)
  return store
}

/** A store with one session in it. */
export async function withSession(open: OpenStore, session_id = 'ses_1', options?: RunelogOptions) {
  const store = await fresh(open, options)
  accepted(await store.runelog.append({ session_id, runes: [created(session_id)] }))
  return { ...store, write: async (...runes: Draft[]) => accepted(await store.runelog.append({ session_id, runes })) }
}

export async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

export async function verify(runelog: Runelog, session_id: string): Promise<BadEvent | undefined> {
  const verifier = verifierOf(session_id)
  for await (const record of runelog.records(session_id)) {
    const bad = verifier.take(record)
    if (bad !== undefined) return bad
  }
  return verifier.end()
}

/** Every row of every model, as bytes. */
export async function dump(runelog: Runelog, added: readonly ReadModel[] = []): Promise<string> {
  const tables: Record<string, readonly Row[]> = {}
  for (const model of [subjects, sessions, epochs, claims, ...added]) tables[model.name] = await runelog.rows(model)
  return canonicalJson(tables as unknown as Json)
}

export const eventIds = (runes: readonly Rune[]) => runes.map((rune) => rune.event_id)

/** The fault of each request that was refused, and how many were not. */
export async function outcomes(requests: readonly Promise<unknown>[]) {
  const settled = await Promise.allSettled(requests.map(async (request) => accepted(await request)))
  return {
    done: settled.filter((s) => s.status === 'fulfilled').length,
    refused: settled.flatMap((s) => (s.status === 'rejected' ? [s.reason] : [])),
  }
}

export async function refusal(request: Promise<unknown>): Promise<unknown> {
  const { refused } = await outcomes([request])
  expect(refused, 'the request was to be refused').toHaveLength(1)
  return refused[0]
}
