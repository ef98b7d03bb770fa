import { expect, test } from 'vitest'
import { prepare, prepareLong } from '../../src/runelog/prepare.ts'
import { plain } from '../support/drafts.ts'
import { sha256 } from '../support/sha256.ts'
import { turnsDuring } from '../support/turns-during.ts'

const ports = { sha256, random: (bytes: number) => 'a'.repeat(2 * bytes), redactor: undefined }
const batch = (...contents: string[]) => ({
  session_id: 'ses_1',
  runes: contents.map((content) => plain('turn.assistant_delta', { content })),
})

test('F-88 long payloads: others get a turn of the event loop after each of them', async () => {
  const long = batch('한'.repeat(600_000), 'short', '\0'.repeat(200_000), 'x'.repeat(600_000))
  expect(await turnsDuring(() => prepareLong(long, ports))).toBeGreaterThanOrEqual(3)
  expect(await prepareLong(long, ports)).toEqual(prepare(long, ports))
})

test('F-88 long payloads: a batch without one is prepared at once, so that batches keep their order', async () => {
  const order: string[] = []
  setImmediate(() => order.push('turn'))
  await prepareLong(batch('a', 'b', 'c'), ports)
  order.push('prepared')
  expect(order).toEqual(['prepared'])
  expect(await prepareLong(batch(), ports)).toMatchObject({ code: 'rune_malformed' })
})
