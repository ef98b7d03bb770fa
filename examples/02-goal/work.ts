import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createStatewright, type Json } from 'statewright'
import { createCast, goal, type Outside } from './cast.ts'

/** One process: it starts the goal, or finds it where another one left it, and works until it is over. */
const folder = process.argv[2] ?? '.'
const ledger = join(folder, 'ledger.ndjson')

const outside: Outside = {
  async act(what, key, result) {
    appendFileSync(ledger, `${JSON.stringify({ what, key, result })}\n`)
    // It has happened; the answer takes its time, as answers do. A process that is killed now does not know.
    await delay(500)
    return result
  },
  find: (key) => entries().find((entry) => entry.key === key)?.result,
}

function entries(): { what: string; key: string; result: Json }[] {
  if (!existsSync(ledger)) return []
  const lines = readFileSync(ledger, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
}

const sw = await createStatewright({
  store: `sqlite:${join(folder, 'goal.db')}`,
  agents: createCast(outside),
  policy: { mode: 'full_access' },
  plans: { registry: join(import.meta.dirname, 'registry') },
})
const { goalId } = await sw.goals.start(goal)

for await (const report of sw.goals.watch(goalId)) {
  const states = report.tasks.map(({ task, state }) => `${task}:${state}`).join(' ')
  console.log(`${report.state.padEnd(13)} ${states}`)
  // A person looks at the refund and lets it pass.
  for (const { interaction_id, prompt } of report.waits_for) {
    console.log(`? ${prompt}`)
    await sw.inbox.approve(interaction_id, { repliedBy: 'you' }).catch(() => {
      // It was answered at the last look.
    })
  }
}
const { state, reason, used } = await sw.goals.show(goalId)
console.log(`goal: ${state}${reason === null ? '' : ` (${reason})`}; ${used.tool_calls} calls, ${used.tokens} tokens`)
console.log(
  `outside: ${entries()
    .map(({ what }) => what)
    .sort()
    .join(', ')}`,
)
await sw.close()
