/** Steps in LangGraph.js with its SQLite saver. Every checkpoint is synced. `kind` is plain or delta. */
import { Annotation, DeltaChannel, END, START, StateGraph } from '@langchain/langgraph'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { answer, input, measure, result } from './measure.mjs'

const messages =
  input.kind === 'delta'
    ? () => new DeltaChannel((state, writes) => state.concat(...writes), { initialValueFactory: () => [] })
    : Annotation({ reducer: (state, added) => state.concat(added), default: () => [] })

let said = 0
let steps = 0
const graph = new StateGraph(Annotation.Root({ messages }))
  .addNode('model', () => ({ messages: [answer(said++)] }))
  .addNode('tool', (state) => ({ messages: [{ role: 'tool', output: result(state.messages.at(-1).call.input.i) }] }))
  .addEdge(START, 'model')
  .addEdge('model', 'tool')
  .addConditionalEdges('tool', () => (said < steps ? 'model' : END))

const saver = SqliteSaver.fromConnString(input.file)
// better-sqlite3 12.11 aborts on this Node when a statement is collected as garbage, so none is.
const kept = []
const prepare = saver.db.prepare.bind(saver.db)
saver.db.prepare = (sql) => {
  const statement = prepare(sql)
  kept.push(statement)
  return statement
}
saver.db.pragma = (source) => {
  const statement = saver.db.prepare(`PRAGMA ${source}`)
  return statement.reader ? statement.all() : statement.run()
}
saver.setup()
saver.db.pragma('synchronous = FULL')
const app = graph.compile({ checkpointer: saver })

await measure(async (count, thread_id) => {
  said = 0
  steps = count
  const last = await app.invoke(
    { messages: [{ role: 'user', content: 'go' }] },
    { configurable: { thread_id }, recursionLimit: 2 * count + 10, durability: 'sync' },
  )
  if (last.messages.length !== 2 * count + 1) throw new Error(`It has ${last.messages.length} messages.`)
})
process.exit(0)
