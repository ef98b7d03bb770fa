import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyModel, createWitness, type Deed, deeds, drain, perform, untruths } from '../../scenarios/any-order.ts'
import { on } from '../../scenarios/stage.ts'
import { fastStores } from '../../scenarios/stores.ts'
import { perform as judge } from '../../support/scenario.ts'

const numRuns = process.env.STATEWRIGHT_PROOF ? 5_000 : 60

const deed: fc.Arbitrary<Deed> = fc.record({ what: fc.constantFrom(...deeds), n: fc.nat(50) })

/** Several people at the same moment. */
const atOnce = fc.array(deed, { minLength: 1, maxLength: 3 })

test.each(fastStores)(
  'any order: random commands at random times leave every run ended, the record legal, and no irreversible action done twice, on $name',
  async (store) => {
    const times = store.name === 'memory' ? numRuns : Math.ceil(numRuns / 10)
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000), fc.array(atOnce, { minLength: 5, maxLength: 25 }), async (seed, sequence) => {
        const play = on(
          store,
          () => {
            const witness = createWitness()
            return { witness, tools: witness.tools, model: anyModel(seed), settings: { replyTimeoutMs: 20_000 } }
          },
          async (stage, { witness }) => {
            const runs = [await stage.submit({ mode: 'interactive' })]
            for (const next of sequence) await Promise.all(next.map((one) => perform(stage, witness, runs, one)))
            await drain(stage, witness, runs)
            expect(await untruths(stage, witness, runs)).toEqual([])
          },
        )
        await judge(play)
      }),
      { seed: 11, numRuns: times },
    )
  },
)
