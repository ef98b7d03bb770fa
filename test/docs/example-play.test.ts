import { expect } from 'vitest'
import { call, say } from '../../src/runtime/scripted-model.ts'
import { on, play, refundTool } from '../scenarios/stage.ts'
import { fastStores } from '../scenarios/stores.ts'

// A play runs on every store: these two here, PostgreSQL and HTTP in test/slow.
for (const store of fastStores)
  play(
    // A title names the component and the behaviour. `scenario('EC-04', …)` instead, if it plays a requirement.
    `approval: an answer after a kill starts the action once, on ${store.name}`,
    on(
      store,
      // Props are made for each play. The model says what its script says; `refundTool` counts its calls in `ran`.
      () => {
        const refund = refundTool({ approval: 'always' })
        return { refund, tools: [refund], script: [call('payments.refund', { order: '42', cents: 500 }), say('Done.')] }
      },
      async ({ run, question, kill, reply, status }, { refund }) => {
        // GIVEN a run that waits for a person. `run` returns when nothing moves by itself any more; nothing sleeps.
        const { runId } = await run()
        const { interaction_id } = await question()
        expect(refund.ran).toEqual([])

        // WHEN the process is killed, another one opens the store, and the person approves
        await kill()
        await reply(interaction_id, { decision: 'approve' })

        // THEN the action was started once
        expect(refund.ran).toEqual([{ order: '42', cents: 500 }])
        expect(await status(runId)).toBe('succeeded')
        // Afterwards `on` audits each log, verifies its chain, checks the FCMP streams, rebuilds the read models, and
        // fails if a warning came that the props do not name.
      },
    ),
  )
