/**
 * Makes a store to be damaged: `damage-program.ts DATABASE`. Several sessions,
 * payments that cannot be undone, an output in a file, an erased event, an
 * archived session with an erased event, and a cached fold.
 */
import { z } from 'zod'
import { openFoldCache } from '../../../src/adapters/sqlite/fold-cache.ts'
import { createStatewright } from '../../../src/app/statewright.ts'
import { signerOf } from '../../../src/app/store-key.ts'
import { foldSession, newSessionState } from '../../../src/observation/fold-session.ts'
import { toParts } from '../../../src/observation/session-parts.ts'
import { agent } from '../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../src/runtime/scripted-model.ts'
import { tool } from '../../../src/runtime/tools/define-tool.ts'

const path = process.argv[2] ?? ''
const input = z.object({ order: z.string() })
const irreversible = { input, irreversible: true, approval: 'never' } as const
const tools = [
  tool({ name: 'payments.refund', ...irreversible, run: ({ order }) => `refunded ${order}` }),
  tool({ name: 'payments.payout', ...irreversible, keyScope: 'global', run: ({ order }) => `paid ${order}` }),
  tool({ name: 'files.list', input, readOnly: true, maxOutputBytes: 256, run: () => 'line\n'.repeat(500) }),
]
const scripts = [
  [call('payments.refund', { order: '42' }), say('Done.')],
  [call('payments.payout', { order: '7' }), call('files.list', { order: 'x' }), say('Done.')],
  [call('payments.refund', { order: '43' }), say('Closed.')],
]
const agents = Object.fromEntries(
  scripts.map((script, i) => [`a${i}`, agent({ role: 'pays', model: scriptedModel(script), tools })]),
)
const sw = await createStatewright({ store: `sqlite:${path}`, agents })
const sessions: string[] = []
for (const name of Object.keys(agents)) {
  const { sessionId } = await sw.runs.start({ agent: name, input: 'begin' })
  await sw.idle()
  sessions.push(sessionId)
}
const [first = '', second = '', third = ''] = sessions
const submitted = async (session_id: string) =>
  (await sw.runelog.read(session_id)).find(({ kind }) => kind === 'run.submitted')?.event_id ?? 0
await sw.sessions.redact(first, await submitted(first), 'a name was in it', 'ann')
await sw.sessions.close(third)
await sw.sessions.archive(third)
await sw.sessions.redact(third, await submitted(third), 'asked for', 'ann')
const state = newSessionState(second)
const runes = await sw.runelog.read(second)
for (const rune of runes) foldSession(state, rune)
await sw.close()
const cache = openFoldCache(`${path}.cache`, signerOf(`sqlite:${path}`))
cache.save(second, toParts(state, new Set(), runes.at(-1)?.hash ?? ''))
cache.close()
