import { expect } from 'vitest'
import {
  consequenceView,
  contractHistories,
  renderConsequence,
  transitionRecords,
} from '../../src/observation/contract.ts'
import { ask, call, say } from '../../src/runtime/scripted-model.ts'
import { DidNotHappen } from '../../src/runtime/tools/tool.ts'
import { scenario } from '../support/scenario.ts'
import { heldTool, on, refundTool } from './stage.ts'
import type { Store } from './stores.ts'
import { talkingModel } from './talking.ts'

const refund = call('payments.refund', { order: '42', cents: 500 })
const form = ask({ title: 'Size?', fields: [{ name: 'size' }] })

function approved() {
  return {
    tools: [refundTool({ approval: 'always' })],
    ...talkingModel([refund, say('Done.')], { holds: () => false }),
  }
}

function broken(error = 'The bank is closed.') {
  const run = () => Promise.reject(new DidNotHappen(error))
  return { tools: [refundTool({ run })], ...talkingModel([refund, say('Sorry.')], { holds: () => false }) }
}

/** Specification 001: the views of a contract, for clients and for reasoning. */
export function observationPlays(store: Store) {
  scenario(
    'OB-01',
    'Snapshot of a PENDING contract',
    on(
      store,
      () => {
        const slow = heldTool({ name: 'files.copy' })
        return {
          slow,
          tools: [slow],
          script: [{ text: '', calls: [1, 2].map((n) => ({ name: 'files.copy', arguments: { n } })) }, say('Done.')],
        }
      },
      async ({ world, submit, snapshots }, { slow }) => {
        // GIVEN two calls that are carried out one after the other, and the first at work
        const { sessionId } = await submit()
        await slow.hasBegun()
        await world.hand.advance(500)
        // WHEN a snapshot of the second is asked for
        const [, pending] = await snapshots(sessionId)
        // THEN it says that nothing has happened to it yet
        expect(pending).toMatchObject({
          current_status: 'pending',
          is_terminal: false,
          is_stable: false,
          is_resumable: false,
          transition_count: 0,
          action_summary: 'files.copy',
          last_trigger: null,
          last_actor: null,
          duration_in_state_ms: 500,
        })
        slow.begun[0]?.resolve(1)
        await slow.hasBegun(2)
        slow.begun[1]?.resolve(2)
        await world.sw.idle()
      },
    ),
  )

  scenario(
    'OB-02',
    'Snapshot of a WAITING contract',
    on(store, approved, async ({ world, run, snapshots }) => {
      // GIVEN an irreversible call that waits for approval, for a minute and a half
      const { sessionId } = await run()
      await world.hand.advance(90_000)
      // THEN the snapshot says that it can stay so, that it can be resumed, what it may do, and since when it waits
      expect(await snapshots(sessionId)).toMatchObject([
        {
          current_status: 'waiting',
          is_terminal: false,
          is_stable: true,
          is_resumable: true,
          has_side_effects: true,
          irreversible: true,
          duration_in_state_ms: 90_000,
          last_trigger: 'suspend',
          last_actor: 'tool_node',
          transition_count: 2,
        },
      ])
    }),
  )

  scenario(
    'OB-03',
    'Snapshot of a terminal contract',
    on(store, approved, async ({ run, question, reply, snapshots }) => {
      const { sessionId } = await run()
      await reply((await question()).interaction_id, { decision: 'approve' })
      // GIVEN a contract that completed, THEN its snapshot holds the result
      expect(await snapshots(sessionId)).toMatchObject([
        {
          current_status: 'completed',
          is_terminal: true,
          is_stable: true,
          is_resumable: false,
          result: { refund: 'r-42' },
        },
      ])
    }),
  )

  scenario(
    'OB-04',
    'Consequence view of a successful irreversible tool execution',
    on(store, approved, async ({ world, run, question, reply, of, consequences }) => {
      // GIVEN an irreversible call that was suspended, approved and carried out
      const { sessionId } = await run()
      await world.hand.advance(2_000)
      await reply((await question()).interaction_id, { decision: 'approve' })
      expect((await of(sessionId, 'contract.moved')).map((move) => move.to)).toEqual([
        'running',
        'waiting',
        'running',
        'completed',
      ])
      // THEN its consequence is a success that cannot be undone and that a person confirmed
      expect(await consequences(sessionId)).toMatchObject([
        {
          consequence_label: 'SUCCESS',
          has_side_effects: true,
          was_suspended: true,
          is_still_pending: false,
          result: { refund: 'r-42' },
          action_summary: 'payments.refund',
          error_message: null,
          total_duration_ms: 2_000,
        },
      ])
    }),
  )

  scenario(
    'OB-05',
    'Consequence view of a failed tool execution',
    on(store, broken, async ({ run, consequences }) => {
      const { sessionId } = await run()
      // GIVEN a call that failed and never waited, THEN its consequence says so and why
      expect(await consequences(sessionId)).toMatchObject([
        {
          consequence_label: 'FAILED',
          was_suspended: false,
          is_still_pending: false,
          has_side_effects: false,
          error_message: 'The bank is closed.',
          result: null,
        },
      ])
    }),
  )

  scenario(
    'OB-06',
    'Consequence view of a WAITING contract',
    on(store, approved, async ({ run, consequences }) => {
      const { sessionId } = await run()
      // GIVEN a call that waits, THEN nothing has happened to the world yet
      expect(await consequences(sessionId)).toMatchObject([
        {
          consequence_label: 'WAITING',
          is_still_pending: true,
          has_side_effects: false,
          was_suspended: true,
          total_duration_ms: null,
        },
      ])
    }),
  )

  scenario(
    'OB-07',
    'ReasoningNode consumes consequence views instead of raw contracts',
    on(store, approved, async ({ run, question, reply, runes }, { requests }) => {
      // GIVEN a call that a person approved and that cannot be undone
      const { sessionId } = await run()
      await reply((await question()).interaction_id, { decision: 'approve' })

      // WHEN reasoning gets control again
      const told = requests.at(-1)?.messages.flatMap((message) => (message.role === 'tool' ? [message] : [])) ?? []

      // THEN what it has about the call is its consequence view and nothing else
      const [history] = contractHistories(await runes(sessionId)).values()
      if (history === undefined) throw new Error('There is no contract.')
      expect(told).toEqual([{ role: 'tool', call_id: history[0].call_id, consequence: consequenceView(history) }])
      // AND the text made of it says that it cannot be undone, and that a person confirmed it
      expect(told.map(({ consequence }) => renderConsequence(consequence))).toEqual([
        '[SUCCESS IRREVERSIBLE (human-confirmed)] payments.refund: {"refund":"r-42"}',
      ])
      // AND neither is said where it does not apply
      const plain = { ...consequenceView(history), has_side_effects: false, was_suspended: false }
      expect(renderConsequence(plain)).toBe('[SUCCESS] payments.refund: {"refund":"r-42"}')
    }),
  )

  scenario(
    'OB-10',
    'Recording a successful tool execution',
    on(
      store,
      () => ({
        tools: [refundTool({ approval: 'always', run: () => 'x'.repeat(1_000) })],
        script: [refund, say('Done.')],
      }),
      async ({ world, run, question, reply, of, snapshots }) => {
        // GIVEN an irreversible call that completed, with a long result
        const { sessionId } = await run()
        await world.hand.advance(1_234)
        await reply((await question()).interaction_id, { decision: 'approve' })
        const [contract] = await snapshots(sessionId)
        // THEN what is remembered is that it was done, how long it took, and the beginning of its result
        const facts = await of(sessionId, 'memory.committed')
        expect(facts.map((rune) => rune.payload)).toEqual([
          {
            type: 'execution_fact',
            execution_id: contract?.execution_id,
            action_type: 'tool_call',
            action_summary: 'payments.refund',
            final_status: 'completed',
            irreversible: true,
            duration_ms: 1_234,
            result_summary: 'x'.repeat(200),
            error_summary: null,
            decided_by: 'human',
          },
        ])
      },
    ),
  )

  scenario(
    'OB-11',
    'Recording a failed execution',
    on(
      store,
      () => broken('No. '.repeat(100)),
      async ({ run, of }) => {
        // GIVEN a call that failed
        const { sessionId } = await run()
        // THEN what is remembered is that it failed and the beginning of why, and not what it went through
        const [fact, ...others] = await of(sessionId, 'memory.committed')
        expect(others).toEqual([])
        expect(fact?.payload).toMatchObject({
          type: 'execution_fact',
          final_status: 'failed',
          error_summary: 'No. '.repeat(50),
          result_summary: null,
        })
        expect(Object.keys(fact?.payload ?? {}).sort()).toEqual([
          'action_summary',
          'action_type',
          'duration_ms',
          'error_summary',
          'execution_id',
          'final_status',
          'irreversible',
          'result_summary',
          'type',
        ])
      },
    ),
  )

  scenario(
    'OB-12',
    'Per-execution transition history (v1-minimal)',
    on(
      store,
      () => ({ script: [form, say('Done.')] }),
      async ({ world, run, question, reply, runes }) => {
        // GIVEN a contract that went pending → running → waiting → running → completed
        const asked = world.hand.clock.now()
        const { sessionId } = await run()
        await world.hand.advance(5_000)
        const { interaction_id } = await question()
        await reply(interaction_id, { action: 'approve', data: { size: 'L' } })
        const [history] = contractHistories(await runes(sessionId)).values()
        if (history === undefined) throw new Error('There is no contract.')
        const execution_id = history[0].execution_id

        // WHEN its records are asked for, THEN there are four, oldest first, each with who, what and when
        const expected = [
          ['pending', 'running', 'start', 'ecs_node', 'system', asked],
          ['running', 'waiting', 'suspend', 'ecs_node', 'system', asked],
          ['waiting', 'running', 'resume', 'graph_runner', 'system', asked + 5_000],
          ['running', 'completed', 'succeed', 'graph_runner', 'system', asked + 5_000],
        ] as const
        expect(transitionRecords(history)).toEqual(
          expected.map(([from_status, to_status, trigger, actor, actor_category, timestamp], sequence_number) => ({
            execution_id,
            sequence_number,
            from_status,
            to_status,
            trigger,
            actor,
            actor_category,
            timestamp,
            is_terminal_transition: to_status === 'completed',
            // AND why it waits, and for which question
            waiting_reason: trigger === 'suspend' ? 'ecs' : null,
            interaction_id: trigger === 'suspend' || trigger === 'resume' ? interaction_id : null,
            error_kind: null,
          })),
        )
      },
    ),
  )
}
