import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCast, goal, type Outside } from '../../examples/02-goal/cast.ts'
import { closeStore, openStore } from '../../src/app/open-store.ts'
import { createStatewright } from '../../src/app/statewright.ts'
import type { Json } from '../../src/kernel/json.ts'
import { storeWith } from './store-with.ts'

/** The example in a process that kills itself right after its n-th append, or lives to the end and prints how it stands. */
const [folder = '.', diesAt = '0'] = process.argv.slice(2)
const ledger = join(folder, 'ledger.ndjson')

function entries(): { what: string; key: string; result: Json }[] {
  const lines = existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n') : []
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
}

const outside: Outside = {
  act(what, key, result) {
    appendFileSync(ledger, `${JSON.stringify({ what, key, result })}\n`)
    return result
  },
  find: (key) => entries().find((entry) => entry.key === key)?.result,
}

const store = await openStore(`sqlite:${join(folder, 'goal.db')}`)
let appends = 0
const runelog: typeof store.runelog = {
  ...store.runelog,
  async append(batch) {
    const runes = await store.runelog.append(batch)
    appends += 1
    if (appends === Number(diesAt)) process.kill(process.pid, 'SIGKILL')
    return runes
  },
}
const sw = await createStatewright({
  store: storeWith(store, { runelog }),
  agents: createCast(outside),
  policy: { mode: 'full_access' },
  plans: { registry: join(import.meta.dirname, '../../examples/02-goal/registry') },
})
const { goalId } = await sw.goals.start(goal)
for (;;) {
  await sw.idle()
  const [question] = await sw.inbox.list()
  if (question === undefined) break
  await sw.inbox.reply(question.interaction_id, { reply: { decision: 'approve' } })
}
const { state, tasks } = await sw.goals.show(goalId)
await sw.close()
await closeStore(store)
const done = tasks.map(({ task, state, result }) => [task, state, result])
process.stdout.write(
  JSON.stringify({
    appends,
    end: {
      state,
      tasks: done,
      outside: entries()
        .map(({ what }) => what)
        .sort(),
    },
  }),
)
