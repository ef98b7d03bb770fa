/**
 * A process that plans, and kills itself with SIGKILL right after its n-th
 * append: `plan-program.ts STORE N`. It answers against the rules first.
 */
import { openStore } from '../../src/app/open-store.ts'
import { createStatewright } from '../../src/app/statewright.ts'
import { asking, bystander, packFor, whereTo } from './plans.ts'

const [url = '', n = '0'] = process.argv.slice(2)
const disk = await openStore(url)
let appends = 0
const store = {
  ...disk,
  runelog: {
    ...disk.runelog,
    async append(batch: Parameters<typeof disk.runelog.append>[0]) {
      const runes = await disk.runelog.append(batch)
      appends += 1
      if (appends === Number(n)) process.kill(process.pid, 'SIGKILL')
      return runes
    },
  },
}
const sw = await createStatewright({ store, agents: { bystander } })
await sw.idle()
const coordination_id = 'coord_1'
const isKnown = (await sw.plans.list()).length > 0
let view = isKnown
  ? await sw.plans.show(coordination_id)
  : await sw.plans.submit({ ...asking(whereTo), coordinationId: coordination_id })
while (view.waits_for !== null) {
  const { question_pack } = view.waits_for
  const target = question_pack.round === 1 ? 'production' : 'staging'
  view = await sw.plans.answer(coordination_id, { answerPack: packFor(question_pack, { target }) })
}
process.stdout.write(JSON.stringify({ state: view.state, appends, problems: await sw.plans.verify(coordination_id) }))
await sw.close()
await disk.runelog.close()
