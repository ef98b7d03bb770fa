import { defineConfig } from 'statewright'
import { actors } from './actor.ts'

/** The config of `statewright serve` in the tests from outside. */
const { OUTSIDE_FOLDER: folder = '.', OUTSIDE_TOKEN: token = '', OUTSIDE_WITHOUT: without = '' } = process.env
const { [without]: _gone, ...agents } = actors(folder)

export default defineConfig({
  store: `sqlite:${folder}/outside.db`,
  agents,
  policy: { mode: 'full_access' },
  // A deadline decides soon where a reply is optional; without one, a run waits for as long as it takes.
  settings: { replyTimeoutMs: 400, cancelGraceMs: 50 },
  server: {
    tokens: [
      { name: 'outside', token, scope: 'admin' },
      { name: 'reader', token: `${token}-reader`, scope: 'read' },
    ],
  },
})
