import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { Runelog } from '../../src/runelog/port.ts'
import { call, say } from '../../src/runtime/scripted-model.ts'
import { heldTool, on, play } from '../scenarios/stage.ts'
import { fastStores } from '../scenarios/stores.ts'

const page = readFileSync(new URL('../../ARCHITECTURE.md', import.meta.url), 'utf8')

/** The table below a heading: the runes of each append, the effect, and the kill. */
function tableBelow(heading: string): readonly string[] {
  const [, section = ''] = page.split(`### ${heading}\n`)
  const rows = section.split('\n#')[0]?.match(/^\| ?(?:\d+)? \| .*$/gm) ?? []
  return rows.map((row) => [...(row.split(' | ')[2] ?? '').matchAll(/`([^`]+)`/g)].map(([, kind]) => kind).join(' '))
}

/** Notes the kinds of each append that is recorded, together with what the test adds. */
function witness() {
  const seen: string[] = []
  const behind = (runelog: Runelog): Runelog => ({
    ...runelog,
    async append(batch) {
      const recorded = await runelog.append(batch)
      if (Array.isArray(recorded)) seen.push(recorded.map(({ kind }) => kind).join(' '))
      return recorded
    },
  })
  return { seen, behind }
}

function refunding(approval: 'always' | 'never') {
  const refund = heldTool({ name: 'payments.refund', irreversible: true, approval })
  const script = [call('payments.refund', { order: 42 }), say('Done.')]
  return () => ({ ...witness(), refund, tools: [refund], script })
}

for (const store of fastStores) {
  play(
    `ARCHITECTURE.md: one step has the commits of its table, on ${store.name}`,
    on(store, refunding('always'), async ({ run, question, reply }, { seen, refund }) => {
      await run()
      const { interaction_id } = await question()
      const replied = reply(interaction_id, { decision: 'approve' })
      await refund.hasBegun()
      seen.push('tool.run()')
      refund.begun[0]?.resolve('done')
      await replied
      expect(tableBelow('The commits of one step')).toEqual(seen)
    }),
  )

  play(
    `ARCHITECTURE.md: a lost worker is recovered with the commits of its table, on ${store.name}`,
    on(store, refunding('never'), async ({ submit, question, world, reply, kill }, { seen, refund }) => {
      await submit()
      await refund.hasBegun()
      seen.push('tool.run()')
      await kill(() => seen.push('kill -9'))
      await world.sw.idle()
      const { interaction_id } = await question()
      await reply(interaction_id, { outcome: 'happened', result: 'done' })
      expect(tableBelow('A worker is lost')).toEqual(seen)
    }),
  )
}
