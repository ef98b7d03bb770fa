import { writeSync } from 'node:fs'
import { serveConfig } from '../../src/serve.ts'
import { consoleAgents } from './console-agents.ts'
import { otherToken, ownerToken } from './console-process.ts'

/** A server to be looked at and killed: `console-program.ts FOLDER PORT`. It says its address when it is ready. */
const [folder = '', port = '0'] = process.argv.slice(2)
const serving = await serveConfig(
  {
    store: `sqlite:${folder}/console.db`,
    agents: consoleAgents(folder),
    plans: { registry: 'examples/plans/registry' },
    server: {
      tokens: [
        { name: 'ada', token: ownerToken, scope: 'admin' },
        { name: 'bob', token: otherToken, scope: 'approve' },
      ],
    },
    warn: () => {},
  },
  { host: undefined, port: Number(port), hosts: [], tls: undefined, allow_plain_http: false },
  // What every request was is of no interest here.
  { tell: () => {}, warn: (text) => void (text.includes('"level":30') || writeSync(2, `${text}\n`)) },
)
writeSync(1, `${JSON.stringify({ url: serving.url })}\n`)
process.once('SIGTERM', () => void serving.stop())
