import { expect } from 'vitest'
import { z } from 'zod'
import { call, say, together } from '../../src/runtime/scripted-model.ts'
import { scenario } from '../support/scenario.ts'
import { createGate, holding } from './gate.ts'
import { counting, heldTool, on, play } from './stage.ts'
import type { Store } from './stores.ts'

const anything = z.looseObject({})

/** The calls of one answer. */
export function roundPlays(store: Store) {
  scenario(
    'TU-04',
    'Calls of parallel-safe tools run at the same time; others in order',
    on(
      store,
      () => {
        const tools = {
          alone: heldTool({ name: 'alone' }),
          beside: heldTool({ name: 'beside', readOnly: true }),
          after: heldTool({ name: 'after' }),
        }
        const answer = together(
          call('beside', { n: 1 }),
          call('alone'),
          call('beside', { n: 2 }),
          call('beside', { n: 3 }),
          call('after'),
        )
        return { ...tools, tools: Object.values(tools), script: [answer, say('Done.')] }
      },
      async ({ world, submit, of, snapshots, status }, { alone, beside, after }) => {
        const { sessionId, runId } = await submit()
        const underWay = async () =>
          (await snapshots(sessionId)).map((contract) => (contract.current_status === 'running' ? 'x' : '.')).join('')

        // GIVEN an answer that calls: beside, alone, beside, beside, after
        // THEN a call that is not parallel-safe waits for what is under way, and holds up what comes after it
        await beside.hasBegun(1)
        expect(await underWay()).toBe('x....')
        beside.begun[0]?.resolve(1)
        await alone.hasBegun()
        expect(await underWay()).toBe('.x...')
        alone.begun[0]?.resolve(2)
        // AND parallel-safe calls run at the same time
        await beside.hasBegun(3)
        expect(await underWay()).toBe('..xx.')
        beside.begun[2]?.resolve(3)
        await world.until(sessionId, (rune) => rune.kind === 'tool.result' && rune.payload.output === 3)
        expect(await underWay()).toBe('..x..')
        expect(after.ran).toEqual([])
        beside.begun[1]?.resolve(4)
        await after.hasBegun()
        after.begun[0]?.resolve(5)
        await world.sw.idle()

        // AND results are recorded as they come, each with its own call
        expect((await of(sessionId, 'tool.result')).map((rune) => rune.payload.output)).toEqual([1, 2, 3, 4, 5])
        expect((await snapshots(sessionId)).map((contract) => contract.result)).toEqual([1, 2, 4, 3, 5])
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  play(
    'rounds: an answer that arrives during the append before an effect is used beside that effect',
    on(
      store,
      () => {
        const looks = heldTool({ name: 'look', readOnly: true, approval: 'always' })
        const script = [together(call('look', { n: 1 }), call('look', { n: 2 })), say('Done.')]
        return { ...createGate(), looks, tools: [looks], script }
      },
      async ({ world, run, inbox, status }, { stop, looks }) => {
        // GIVEN two calls that need approval, of which the first has it and is about to begin
        const { runId } = await run()
        const [first, second] = (await inbox()).map(({ interaction_id }) => interaction_id)
        const beginning = stop(holding('tool.approved'))
        await world.sw.inbox.reply(first ?? '', { reply: { decision: 'approve' } })
        await beginning.reached
        // WHEN the second gets it at that moment
        await world.sw.inbox.reply(second ?? '', { reply: { decision: 'approve' } })
        beginning.open()
        // THEN both are at work at the same time
        await looks.hasBegun(2)
        for (const each of looks.begun) each.resolve('seen')
        await world.sw.idle()
        expect(await status(runId)).toBe('succeeded')
      },
    ),
  )

  play(
    'outputs: an output over the limit is cut for the model and kept whole',
    on(
      store,
      () => {
        const whole = Array.from({ length: 500 }, (_, i) => `row ${i}`)
        const list = counting({
          name: 'list',
          input: anything,
          readOnly: true,
          maxOutputBytes: 300,
          run: () => whole,
        })
        return { whole, tools: [list], script: [call('list'), say('That is a lot.')] }
      },
      async ({ world, run, of, snapshots }, { whole }) => {
        // GIVEN a tool that returns more than its limit
        const { sessionId } = await run()
        // THEN the model gets the beginning, and is told how much is missing and where it is
        const [result] = await of(sessionId, 'tool.result')
        const { output, output_ref } = result?.payload ?? {}
        expect(output).toMatch(/^\["row 0","row 1",.*\[Cut: \d+ of \d+ bytes are shown; the whole is stored as /s)
        expect(Buffer.byteLength(String(output))).toBeLessThanOrEqual(300)
        expect(await snapshots(sessionId)).toMatchObject([{ current_status: 'completed', result: output }])
        // AND under that reference there is the whole of it, also for another process
        await world.restart()
        expect(JSON.parse((await world.sw.output(output_ref ?? '')) ?? '')).toEqual(whole)
        expect(await world.sw.output('nothing')).toBeUndefined()
      },
    ),
  )
}
