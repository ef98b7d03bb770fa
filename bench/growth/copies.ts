import { z } from 'zod'
import { closeStore, openStore } from '../../src/app/open-store.ts'
import { createStatewright } from '../../src/app/statewright.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import type { Draft, Rune } from '../../src/runes/rune.ts'
import { concernNames } from '../../src/runes/rune.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'

/** Sessions that are written at once. */
const atOnce = 512

const look = tool({ name: 'orders.look', input: z.object({ id: z.int() }), readOnly: true, run: ({ id }) => ({ id }) })
const pay = tool({
  name: 'payments.pay',
  input: z.object({ id: z.int() }),
  irreversible: true,
  approval: 'always',
  run: () => 'paid',
})

export const agents = {
  done: agent({
    role: 'done',
    tools: [look],
    model: scriptedModel((_, said) => (said % 2 === 0 ? call('orders.look', { id: 1 }) : say('It is on its way.'))),
  }),
  asks: agent({
    role: 'asks',
    tools: [look, pay],
    model: scriptedModel((_, said) =>
      said % 2 === 0 ? call('orders.look', { id: 1 }) : call('payments.pay', { id: 1 }),
    ),
  }),
}

/** The appends of a session that the runtime played. */
async function played(name: keyof typeof agents): Promise<readonly (readonly Rune[])[]> {
  const sw = await createStatewright({ store: 'memory:', agents })
  const { sessionId } = await sw.runs.start({ agent: name, input: 'Where is order 7?' })
  await sw.idle()
  const runes = await sw.runelog.read(sessionId)
  await sw.close()
  return [...Map.groupBy(runes, ({ hash }) => hash).values()]
}

/** The key of an action contains its session, so it is another one in each copy. */
const keyOf = (rune: Rune) => (rune.kind === 'contract.opened' ? (rune.payload.idempotency_key ?? []) : [])

/** The same append for another session: every id and key gets a number. */
function copied(runes: readonly Rune[], n: number): { readonly session_id: string; readonly runes: readonly Draft[] } {
  const ids = new Set(
    runes.flatMap((rune) => [rune.session_id, keyOf(rune), ...concernNames.map((name) => rune[name] ?? [])].flat()),
  )
  const [{ session_id }] = runes as readonly [Rune]
  let text = JSON.stringify(
    runes.map(
      ({
        event_id: _,
        rune_id: __,
        session_id: ___,
        actor_category: ____,
        payload_sha256: _____,
        prev_hash: ______,
        hash: _______,
        schema_version: ________,
        ...draft
      }) => draft,
    ),
  )
  for (const id of new Set([...ids, session_id])) text = text.replaceAll(id, `${id}${n}`)
  return { session_id: `${session_id}${n}`, runes: JSON.parse(text) }
}

/** Adds the sessions with these numbers to the store. Each tenth session asks a person. */
export async function fill(path: string, from: number, to: number): Promise<void> {
  const [asks, done] = [await played('asks'), await played('done')]
  const store = await openStore(`sqlite:${path}`)
  for (let first = from; first < to; first += atOnce)
    await Promise.all(
      Array.from({ length: Math.min(atOnce, to - first) }, async (_, i) => {
        const n = first + i
        for (const append of n % 10 === 0 ? asks : done) accepted(await store.runelog.append(copied(append, n)))
      }),
    )
  await closeStore(store)
}
