import { writeSync } from 'node:fs'
import { serveConfig } from '../../src/serve.ts'
import { consoleAgents } from './console-agents.ts'

/** A server to be looked at and killed: `console-program.ts FOLDER PORT`. It says its address when it is ready. */
const [folder = '', port = '0'] = process.argv.slice(2)
const serving = await serveConfig(
  {
    store: `sqlite:${folder}/console.db`,
    agents: consoleAgents(folder),
    server: { tokens: [{ name: 'ada', token: 'token-of-ada-for-tests', scope: 'admin' }] },
    warn: () => {},
  },
  { host: undefined, port: Number(port), hosts: [], tls: undefined, allow_plain_http: false },
  { tell: () => {}, warn: (text) => void writeSync(2, `${text}\n`) },
)
writeSync(1, `${JSON.stringify({ url: serving.url })}\n`)
process.once('SIGTERM', () => void serving.stop())
