import { expect } from 'vitest'
import { z } from 'zod'
import { sessions } from '../../src/runelog/models.ts'
import type { RunHandle } from '../../src/runtime/run-handle.ts'
import { breakOff, call, say, together } from '../../src/runtime/scripted-model.ts'
import { createGate, holding } from './gate.ts'
import { counting, heldTool, on, play, type Stage } from './stage.ts'
import type { Store } from './stores.ts'
import { talkingModel } from './talking.ts'

/**
 * One world in which a run can be brought into every state: its model says
 * something and is held in the middle of it, calls a tool that is held and one
 * that needs approval, and ends.
 */
function everything() {
  const held = heldTool({ name: 'held', timeoutMs: 3_600_000 })
  const asks = counting({ name: 'asks', input: z.looseObject({}), approval: 'always', run: () => 'done' })
  const script = [{ ...together(call('held'), call('asks')), text: 'Hello there.' }, say('The end.')]
  const settings = { cancelGraceMs: 0 }
  return { held, asks, settings, tools: [held, asks], ...talkingModel(script, { holds: (n) => n === 2 }) }
}
type Everything = ReturnType<typeof everything>

/** A state of a run: how to get there, and what a cancel finds. */
interface Situation {
  readonly reach: (stage: Stage, props: Everything) => Promise<RunHandle>
  readonly status: string
  /** The rest of the turn after a cancel: its text so far, or undefined if there is no turn. */
  readonly partial: string | null
  /** The states of the contracts, and of the calls. */
  readonly contracts: readonly string[]
  readonly results: readonly string[]
}

const situations: Readonly<Record<string, Situation>> = {
  'queued behind another': {
    async reach({ submit }, { isAbout }) {
      const { sessionId } = await submit({ input: 'First.' })
      await isAbout(2)
      return submit({ sessionId })
    },
    status: 'queued',
    partial: null,
    contracts: [],
    results: [],
  },
  'queued, in the middle of its tools': {
    async reach(stage, props) {
      const run = await waiting(stage, props)
      await stage.world.sw.sessions.pause(run.sessionId)
      await approve(stage)
      await stage.world.sw.idle()
      return run
    },
    status: 'queued',
    partial: '',
    contracts: ['completed', 'cancelled'],
    results: ['success', 'cancelled'],
  },
  'running, with its model answering': {
    async reach({ submit }, { isAbout }) {
      const run = await submit()
      await isAbout(2)
      return run
    },
    status: 'running',
    partial: 'Hello ',
    contracts: [],
    results: [],
  },
  'running, with a tool at work': {
    async reach({ submit }, { goOn, held }) {
      const run = await submit()
      goOn(2)
      await held.hasBegun()
      return run
    },
    status: 'running',
    partial: '',
    contracts: ['cancelled', 'cancelled'],
    results: ['cancelled', 'cancelled'],
  },
  'waiting for a person': {
    reach: waiting,
    status: 'waiting_user',
    partial: '',
    contracts: ['completed', 'cancelled'],
    results: ['success', 'cancelled'],
  },
}

async function approve({ world, inbox }: Stage) {
  for (const { interaction_id } of await inbox())
    await world.sw.inbox.reply(interaction_id, { reply: { decision: 'approve' } })
}

async function waiting({ world, submit }: Stage, { goOn, held }: Everything) {
  const run = await submit()
  goOn(2)
  await held.hasBegun()
  held.begun[0]?.resolve('done')
  await world.sw.idle()
  return run
}

/** Nothing is in the way of a run any more: no pause, no run before it, no tool and no person that takes its time. */
async function clearTheWay(stage: Stage, { held, goOn }: Everything, run: RunHandle) {
  const { world } = stage
  const session = await world.sw.runelog.row(sessions, run.sessionId)
  if (session?.tag === 'paused') await world.sw.sessions.resume(run.sessionId)
  goOn(2)
  let isOver = false
  void run.result().then(() => {
    isOver = true
  })
  await expect
    .poll(async () => {
      for (const begun of held.begun) begun.resolve('done')
      await approve(stage)
      return isOver
    })
    .toBe(true)
  await world.sw.idle()
}

/** Specification 004 and 002: stopping and steering a run, wherever it is. */
export function stoppingPlays(store: Store) {
  for (const [name, situation] of Object.entries(situations)) {
    for (const how of ['cancel', 'interrupt'] as const)
      play(
        `${how}: a run that is ${name} stops, and its agent takes the next run`,
        on(store, everything, async (stage, props) => {
          const { world, status, snapshots, submit, inbox, runes } = stage
          // GIVEN a run in that state
          const run = await situation.reach(stage, props)
          const own = async () => (await runes(run.sessionId)).filter((rune) => rune.run_id === run.runId)
          expect(await status(run.runId)).toBe(situation.status)

          // WHEN it is stopped; an interrupt lets what is under way come to its end
          expect(await run[how]('Enough.')).toMatchObject({ runId: run.runId, accepted: true })
          const finishes = how === 'interrupt' && name.includes('a tool')
          if (finishes) props.held.begun[0]?.resolve('done')
          expect(await run.result()).toMatchObject({ status: 'canceled', message: 'Enough.' })

          // THEN it ended from where it truly was, once, and its turn and its calls with it
          const ends = (await own()).filter((rune) => rune.kind === 'run.moved' && rune.to === 'canceled')
          expect(ends.map((rune) => rune.from)).toEqual([situation.status])
          const interrupted = (await own()).filter((rune) => rune.kind === 'turn.interrupted')
          expect(interrupted.map((rune) => rune.payload)).toMatchObject(
            situation.partial === null ? [] : [{ reason: 'Enough.', partial_output: situation.partial }],
          )
          const [contracts, results] = finishes
            ? [
                ['completed', 'cancelled'],
                ['success', 'cancelled'],
              ]
            : [situation.contracts, situation.results]
          expect((await snapshots(run.sessionId)).map((contract) => contract.current_status)).toEqual(contracts)
          const ended = (await own()).flatMap((rune) => (rune.kind === 'tool.result' ? [rune.payload.status] : []))
          expect(ended).toEqual(results)
          expect(await inbox()).toEqual([])
          expect(props.asks.ran).toEqual([])

          // AND the agent is free for the next one
          const next = await submit({ sessionId: run.sessionId, input: 'Next.' })
          await clearTheWay(stage, props, next)
          expect(await status(next.runId)).toBe('succeeded')
          expect(world.warnings).toEqual([])
        }),
      )

    play(
      `steer: a run that is ${name} gets the input in a turn of its own`,
      on(store, everything, async (stage, props) => {
        const { status, runes } = stage
        // GIVEN a run in that state
        const run = await situation.reach(stage, props)
        // WHEN it is given new input
        expect(await run.steer('Rather this.')).toMatchObject({ accepted: true, status: situation.status })
        await clearTheWay(stage, props, run)

        // THEN the input opened a turn of its own, after what was asked first, and the run went on to its end
        expect(await status(run.runId)).toBe('succeeded')
        const own = (await runes(run.sessionId)).filter((rune) => rune.run_id === run.runId)
        expect(own.flatMap((rune) => (rune.kind === 'turn.started' ? [rune.payload.input] : []))).toEqual([
          'Go.',
          'Rather this.',
        ])
        expect(own.filter((rune) => rune.kind === 'turn.interrupted').map((rune) => rune.trigger)).toEqual(['steer'])
        const users = props.told()?.filter((line) => line.startsWith('user'))
        expect(users?.slice(-2)).toEqual(['user Go.', 'user Rather this.'])
      }),
    )
  }

  const over = {
    succeeded: { script: [say('Done.')], stop: async () => {} },
    failed: { script: [breakOff('No.', { retryable: false })], stop: async () => {} },
    canceled: { script: [call('held')], stop: (run: RunHandle) => run.cancel('Enough.') },
  }
  for (const [status, { script, stop }] of Object.entries(over))
    play(
      `cancel, interrupt, steer: a run that has ${status} does not accept them`,
      on(
        store,
        () => ({ script, tools: [heldTool({ name: 'held' })], settings: { cancelGraceMs: 0 } }),
        async ({ world, submit, runes }) => {
          // GIVEN a run that is over
          const run = await submit()
          await stop(run)
          await run.result()
          await world.sw.idle()
          const before = (await runes(run.sessionId)).length
          // THEN it is too late to stop it, which is no error, and nothing is recorded
          const late = { runId: run.runId, status, accepted: false }
          expect(await run.cancel()).toEqual(late)
          expect(await run.interrupt()).toEqual(late)
          // AND input for it is refused, since no turn would read it
          await expect(run.steer('Wait!')).rejects.toMatchObject({
            code: 'transition_refused',
            details: { from: status, refusal: 'terminal' },
          })
          expect((await runes(run.sessionId)).length).toBe(before)
          await expect(run.result()).resolves.toMatchObject({ status })
        },
      ),
    )

  play(
    'cancel: one that races with the run parking is obeyed',
    on(
      store,
      () => ({ ...createGate(), ...everything() }),
      async ({ world, submit, snapshots, inbox }, props) => {
        const parking = props.stop(holding('turn.needs_input'))
        const run = await submit()
        props.goOn(2)
        await props.held.hasBegun()
        props.held.begun[0]?.resolve('done')
        await parking.reached
        // WHEN the cancel is recorded first
        await run.cancel('Enough.')
        parking.open()
        // THEN it is obeyed, and no person is asked
        expect(await run.result()).toMatchObject({ status: 'canceled' })
        await world.sw.idle()
        expect(props.refused).toEqual(['stale_write'])
        expect((await snapshots(run.sessionId)).map((s) => s.current_status)).toEqual(['completed', 'cancelled'])
        expect(await inbox()).toEqual([])
      },
    ),
  )

  play(
    'cancel: of a cancel and an answer at once, either may win, and the run ends once',
    on(store, everything, async (stage, props) => {
      const { world, question, of, snapshots, status } = stage
      const run = await waiting(stage, props)
      const { interaction_id } = await question()
      // WHEN both are sent at once
      const [cancelled, replied] = await Promise.allSettled([
        run.cancel('Enough.'),
        world.sw.inbox.reply(interaction_id, { reply: { decision: 'approve' } }),
      ])
      await world.sw.idle()
      // THEN the run is canceled, the call has one result, and the reply was either used up or refused
      expect(cancelled.status).toBe('fulfilled')
      if (replied.status === 'rejected') expect(replied.reason).toMatchObject({ code: 'interaction_closed' })
      expect(await status(run.runId)).toBe('canceled')
      expect(await of(run.sessionId, 'tool.result')).toHaveLength(2)
      expect((await snapshots(run.sessionId)).every((s) => s.is_terminal)).toBe(true)
    }),
  )

  play(
    'cancel: an irreversible action under way has an unknown outcome, and its question outlives the run',
    on(
      store,
      () => {
        const held = heldTool({ name: 'deploy', irreversible: true })
        return { held, tools: [held], script: [call('deploy'), say('?')], settings: { cancelGraceMs: 0 } }
      },
      async ({ world, submit, snapshots, of, question, reply, status }, { held }) => {
        const run = await submit()
        await held.hasBegun()
        // WHEN it is cancelled while the action is under way
        await run.cancel('Stop!')
        await run.result()
        // THEN it is not recorded as not happened
        expect(await status(run.runId)).toBe('canceled')
        expect(await snapshots(run.sessionId)).toMatchObject([{ current_status: 'waiting' }])
        expect((await of(run.sessionId, 'tool.result')).map((rune) => rune.payload.status)).toEqual(['unknown'])
        // AND while the tool may still act, "did not happen" is refused
        const { interaction_id } = await question()
        await expect(reply(interaction_id, { outcome: 'did_not' })).rejects.toMatchObject({ code: 'too_early' })
        held.begun[0]?.reject(new Error('stopped'))
        await world.until(run.sessionId, (r) => r.kind === 'contract.evidence_added' && r.payload.reported === 'failed')
        await reply(interaction_id, { outcome: 'did_not' })
        expect(await snapshots(run.sessionId)).toMatchObject([{ current_status: 'failed' }])
      },
    ),
  )

  play(
    'cancel: an irreversible action that ends within the cancel grace has happened, and no person is asked',
    on(
      store,
      () => {
        const held = heldTool({ name: 'deploy', irreversible: true })
        return { held, tools: [held], script: [call('deploy'), say('?')], settings: { cancelGraceMs: 3_000 } }
      },
      async ({ world, submit, snapshots, of, inbox, status }, { held }) => {
        const run = await submit()
        await held.hasBegun()
        // WHEN it is cancelled, and the action comes to its end right before its grace does
        await run.cancel('Stop!')
        await held.wasTold()
        await world.hand.advance(2_999)
        expect(await status(run.runId)).toBe('running')
        held.begun[0]?.resolve('deployed')
        // THEN the run is cancelled, and what it did is on record
        expect(await run.result()).toMatchObject({ status: 'canceled', message: 'Stop!' })
        expect(await snapshots(run.sessionId)).toMatchObject([{ current_status: 'completed', result: 'deployed' }])
        expect((await of(run.sessionId, 'tool.result')).map((rune) => rune.payload.status)).toEqual(['success'])
        expect(await inbox()).toEqual([])
      },
    ),
  )

  play(
    'steer: an empty input is refused, because it would steer for ever',
    on(store, everything, async (stage, props) => {
      const run = await situations['running, with its model answering']?.reach(stage, props)
      await expect(run?.steer(null)).rejects.toMatchObject({ code: 'input_missing' })
      await run?.cancel()
      expect(await run?.result()).toMatchObject({ status: 'canceled' })
    }),
  )
}
