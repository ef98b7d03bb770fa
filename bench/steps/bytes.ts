import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../src/adapters/sqlite/runelog.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { created, plain } from '../../test/support/drafts.ts'
import { measuredBy } from '../support/child.ts'
import { sizeOf } from '../support/scratch.ts'

/** Bytes that a step of a session adds to the files of a closed store: a session of so many steps against one of a single step. */
export function bytesPerStep(
  steps: number,
  file: () => string,
  isPlain = false,
): { readonly store: number; readonly cache: number } {
  const [one, all] = [file(), file()]
  measuredBy('bench/steps/ours.ts', { store: `sqlite:${one}`, steps: 1, warm: 0, isPlain })
  measuredBy('bench/steps/ours.ts', { store: `sqlite:${all}`, steps, warm: 0, isPlain })
  const each = (isCache: boolean) => (sizeOf(all, isCache) - sizeOf(one, isCache)) / (steps - 1)
  return { store: each(false), cache: each(true) }
}

/** Bytes of a rune with a payload of 30 characters, each recorded by itself. */
export async function bytesPerSmallRune(count: number, file: () => string): Promise<number> {
  const sizes = []
  for (const runes of [1, count]) {
    const path = file()
    const store = await openSqliteRunelog(path, hostPorts)
    accepted(await store.append({ session_id: 'ses_1', runes: [created('ses_1')] }))
    await Promise.all(
      Array.from({ length: runes }, async (_, i) =>
        accepted(
          await store.append({
            session_id: 'ses_1',
            runes: [plain('turn.assistant_delta', { content: `word ${i}`.padEnd(30, '.') })],
          }),
        ),
      ),
    )
    await store.close()
    sizes.push(sizeOf(path))
  }
  const [least = 0, most = 0] = sizes
  return (most - least) / (count - 1)
}
