import { writeSync } from 'node:fs'
import { createCast } from '../../examples/02-goal/cast.ts'
import { serveConfig } from '../../src/app/serve.ts'
import type { Json } from '../../src/kernel/json.ts'
import { consoleAgents } from './console-agents.ts'
import { otherToken, ownerToken } from './console-process.ts'

/** A server to be looked at and killed: `console-program.ts FOLDER PORT CAST`. It says its address when it is ready. */
const [folder = '', port = '0', cast = 'agents'] = process.argv.slice(2)
const done = new Map<string, Json>()
const outside = {
  act: (_: string, key: string, result: Json) => {
    done.set(key, result)
    return result
  },
  find: (key: string) => done.get(key),
}
/** The example with the migration plans what cannot be undone. */
const policy = { schema_version: '1.0.0', mode: 'interactive', constraints: { allow_destructive: true } }
const serving = await serveConfig(
  {
    store: `sqlite:${folder}/console.db`,
    ...(cast === 'goal'
      ? { agents: createCast(outside), plans: { registry: 'examples/02-goal/registry' } }
      : { agents: consoleAgents(folder), plans: { registry: 'examples/plans/registry', policy } }),
    server: {
      tokens: [
        { name: 'ada', token: ownerToken, scope: 'admin' },
        { name: 'bob', token: otherToken, scope: 'approve' },
      ],
    },
    warn: () => {},
  },
  { port: Number(port), quiet: true },
  { onRune: () => {}, warn: (text) => void writeSync(2, `${text}\n`) },
)
writeSync(1, `${JSON.stringify({ url: serving.url })}\n`)
process.once('SIGTERM', () => void serving.stop())
