import { expect } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/runtime/define-agent.ts'
import type { RunHandle } from '../../src/runtime/run-handle.ts'
import { call, type Scripted, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { scenario } from '../support/scenario.ts'
import { createGate, holding } from './gate.ts'
import { counting, heldTool, on, type Props, type Stage } from './stage.ts'
import type { Store } from './stores.ts'

const anything = z.looseObject({})

function toolbox(...script: readonly Scripted[]) {
  const held = heldTool({ name: 'held', timeoutMs: 1_000 })
  const pay = heldTool({ name: 'pay', irreversible: true, timeoutMs: 1_000 })
  const tools = [
    counting({ name: 'good', input: anything, run: () => 'done' }),
    counting({ name: 'once', input: anything, irreversible: true, run: () => 'done' }),
    counting({ name: 'bad', input: anything, run: () => Promise.reject(new Error('No.')) }),
    counting({
      name: 'jailed',
      input: anything,
      run: () => Promise.reject(Object.assign(new Error('Out of bounds.'), { sandboxViolation: true })),
    }),
    counting({ name: 'strict', input: z.object({ n: z.int() }), run: () => 'done' }),
    counting({ name: 'asks', input: anything, approval: 'always', run: () => 'done' }),
    held,
    pay,
  ]
  return {
    held,
    pay,
    tools,
    script: [...script, say('Done.')],
    settings: { replyTimeoutMs: 1_000, cancelGraceMs: 0 },
    ...createGate(),
  }
}
type Toolbox = ReturnType<typeof toolbox>

interface Way {
  readonly script: readonly Scripted[]
  /** The outcome of the calls; the result is the run. */
  readonly act?: (stage: Stage, box: Toolbox) => Promise<RunHandle>
  /** The status of each result, in the order of the calls. */
  readonly results: readonly string[]
  readonly warnings?: Props['warnings']
}

const atWork =
  (tool: 'held' | 'pay') =>
  async (stage: Stage, box: Toolbox, mode: 'interactive' | 'auto' = 'interactive') => {
    const run = await stage.submit({ mode })
    await box[tool].hasBegun()
    return run
  }

const answered =
  (decision: 'approve' | 'deny') =>
  async ({ run, question, reply }: Stage) => {
    const asked = await run()
    await reply((await question()).interaction_id, { decision })
    return asked
  }

/** Every way in which a call can end. */
const ways: Readonly<Record<string, Way>> = {
  'it succeeds': { script: [call('good')], results: ['success'] },
  'it fails': { script: [call('bad')], results: ['error'] },
  'it leaves its sandbox': { script: [call('jailed')], results: ['sandbox_violation'] },
  'its arguments do not fit': { script: [call('strict', { n: 'one' })], results: ['error'] },
  'the tool is unknown': { script: [call('unknown')], results: ['error'] },
  'it is a duplicate': { script: [together(call('once'), call('once'))], results: ['success', 'denied'] },
  'a person approves it': { script: [call('asks')], act: answered('approve'), results: ['success'] },
  'a person denies it': { script: [call('asks')], act: answered('deny'), results: ['denied'] },
  'policy denies it': { script: [call('asks')], act: ({ run }) => run({ mode: 'auto' }), results: ['denied'] },
  'no person approves it in time': {
    script: [call('asks')],
    async act({ world, run }) {
      const asked = await run({ interactiveRequireUserReply: false })
      await world.hand.advance(1_000)
      await asked.result()
      return asked
    },
    results: ['timeout'],
  },
  'it takes too long': {
    script: [call('held')],
    async act(stage, box) {
      const run = await atWork('held')(stage, box)
      await stage.world.hand.advance(1_000)
      await run.result()
      return run
    },
    results: ['timeout'],
  },
  'its run is cancelled while it waits its turn, while it is at work, and while it waits for approval': {
    script: [together(call('held'), call('good'), call('asks'))],
    async act(stage, box) {
      const run = await atWork('held')(stage, box)
      await run.cancel()
      await run.result()
      return run
    },
    results: ['cancelled', 'cancelled', 'cancelled'],
  },
  'its run is cancelled after it was asked about': {
    script: [together(call('good'), call('asks'))],
    async act({ run }) {
      const asked = await run()
      await asked.cancel()
      return asked
    },
    results: ['success', 'cancelled'],
  },
  'its run is cancelled, and its outcome is unknown': {
    script: [call('pay')],
    async act(stage, box) {
      const run = await atWork('pay')(stage, box)
      await run.cancel()
      await run.result()
      return run
    },
    results: ['unknown'],
  },
  'its session is closed': {
    script: [together(call('held'), call('asks'))],
    async act(stage, box) {
      const run = await atWork('held')(stage, box)
      await stage.world.sw.sessions.close(run.sessionId)
      return run
    },
    results: ['cancelled', 'cancelled'],
  },
  'its worker is lost, and a person knows what became of it': {
    script: [call('pay')],
    async act(stage, box) {
      const run = await atWork('pay')(stage, box)
      await stage.world.revive()
      await stage.world.sw.idle()
      await stage.reply((await stage.question()).interaction_id, { outcome: 'happened' })
      return run
    },
    results: ['success'],
  },
  'its worker is lost, and no person may be asked': {
    script: [together(call('pay'), call('asks'))],
    async act(stage, box) {
      const run = await atWork('pay')(stage, box, 'auto')
      await stage.world.revive()
      await stage.world.sw.idle()
      return run
    },
    results: ['unknown', 'denied'],
  },
  'its worker is lost, and its agent is not there any more': {
    script: [together(call('pay'), call('held'), call('asks'))],
    async act(stage, box) {
      const run = await atWork('pay')(stage, box)
      await stage.world.revive({ agents: { other: agent({ role: 'other', model: scriptedModel([]) }) } })
      return run
    },
    results: ['unknown', 'cancelled', 'cancelled'],
  },
  'its agent breaks': {
    script: [together(call('held'), call('good'))],
    async act(stage, box) {
      const run = await atWork('held')(stage, box)
      box.breakAt(holding('tool.result'))
      box.held.begun[0]?.resolve('done')
      expect(await run.result()).toMatchObject({ status: 'failed', errorCode: 'AGENT_CRASH' })
      expect(box.refused).toEqual(['broken'])
      return run
    },
    results: ['success', 'cancelled'],
    warnings: ['an agent crashed'],
  },
}

/** INV-TOOL-TERMINAL, in every way in which a call can end. */
export function oneResultPlays(store: Store) {
  for (const [name, { script, act, results, warnings = [] }] of Object.entries(ways))
    scenario(
      'TO-03',
      `INV-TOOL-TERMINAL: every call has exactly one result when ${name}`,
      on(
        store,
        () => ({ ...toolbox(...script), warnings }),
        async (stage, box) => {
          // GIVEN calls, and what happens to them
          const run = act === undefined ? await stage.run() : await act(stage, box)
          await stage.world.sw.idle()
          // THEN each has one result, and it comes after the call
          const calls = await stage.of(run.sessionId, 'tool.call')
          const all = await stage.of(run.sessionId, 'tool.result')
          expect(
            calls.map(({ payload: { call_id } }) => all.filter((r) => r.payload.call_id === call_id).length),
          ).toEqual(calls.map(() => 1))
          const byCall = new Map(all.map((rune) => [rune.payload.call_id, rune]))
          expect(calls.map(({ payload }) => byCall.get(payload.call_id)?.payload.status)).toEqual(results)
          for (const { payload, event_id } of calls)
            expect(byCall.get(payload.call_id)?.event_id).toBeGreaterThan(event_id)
        },
      ),
    )
}
