/**
 * The same work in LangGraph.js with its SQLite saver: a scripted model asks
 * for a tool, the tool answers with 1 KB, N times over. Every checkpoint is
 * synced, as every append is with us.
 *
 * usage: node langgraph.mjs <plain|delta> <steps> <file>
 */
import { statSync } from 'node:fs'
import { Annotation, DeltaChannel, END, START, StateGraph } from '@langchain/langgraph'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'

const [, , kind, count, file] = process.argv
const steps = Number(count)
const output = 'x'.repeat(1024)

const messages =
  kind === 'delta'
    ? () => new DeltaChannel((state, writes) => state.concat(...writes), { initialValueFactory: () => [] })
    : Annotation({ reducer: (state, added) => state.concat(added), default: () => [] })

let said = 0
const graph = new StateGraph(Annotation.Root({ messages }))
  .addNode('model', () => ({ messages: [{ role: 'assistant', call: { name: 'echo.it', i: said++ } }] }))
  .addNode('tool', (state) => ({ messages: [{ role: 'tool', i: state.messages.at(-1).call.i, output }] }))
  .addEdge(START, 'model')
  .addEdge('model', 'tool')
  .addConditionalEdges('tool', () => (said < steps ? 'model' : END))

const saver = SqliteSaver.fromConnString(file)
saver.setup()
saver.db.pragma('synchronous = FULL')
// better-sqlite3 12.11 aborts on this Node when a statement is collected as garbage, so none is.
const kept = []
const prepare = saver.db.prepare.bind(saver.db)
saver.db.prepare = (sql) => {
  const statement = prepare(sql)
  kept.push(statement)
  return statement
}
const app = graph.compile({ checkpointer: saver })
const began = performance.now()
const last = await app.invoke(
  { messages: [{ role: 'user', content: 'go' }] },
  { configurable: { thread_id: 't' }, recursionLimit: 2 * steps + 10, durability: 'sync' },
)
const seconds = (performance.now() - began) / 1000
if (last.messages.length !== 2 * steps + 1) throw new Error(`It has ${last.messages.length} messages.`)
saver.db.pragma('wal_checkpoint(TRUNCATE)')
console.log(JSON.stringify({ steps, steps_per_second: steps / seconds, bytes_per_step: statSync(file).size / steps }))
