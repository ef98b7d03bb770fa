/** Compiled, never run: the inferred types of the public API. `npm run types` fails when one of these changes. */
import { createStatewright, isFault, type RunResult, type RunStatus, type Statewright, tool } from 'statewright'
import type { TestClock } from 'statewright/testing'
import { z } from 'zod'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <T extends true>(): T | undefined => undefined

tool({
  name: 'orders.refund',
  input: z.object({ order: z.int(), note: z.string().default('') }),
  run(input, context) {
    // The input of `run` is the output of the schema: a default is filled in.
    holds<Same<typeof input, { order: number; note: string }>>()
    holds<Same<typeof context.signal, AbortSignal>>()
    return { refunded: input.order }
  },
})

// @ts-expect-error A tool has a schema for its input.
tool({ name: 'orders.look', run: () => null })

// @ts-expect-error A store is named.
void createStatewright({ agents: {} })

export const results = (result: RunResult, clock: TestClock) => {
  holds<Same<typeof result.runId, string>>()
  holds<Same<typeof result.status, RunStatus>>()
  holds<Same<ReturnType<typeof clock.advance>, Promise<void>>>()
}

export const refused = (error: unknown) => {
  // The codes narrow the fault, and with it its details.
  if (isFault(error, 'key_reused')) holds<Same<typeof error.details.idempotency_key, string>>()
  // @ts-expect-error There is no such code.
  isFault(error, 'no_such_code')
}

export const grouped = async (sw: Statewright) => {
  const run = await sw.runs.start({ agent: 'support', input: 'Go.' })
  holds<Same<typeof run.isRepeated, boolean>>()
  // @ts-expect-error The log of a Statewright is read, never written.
  void sw.runelog.append
  // @ts-expect-error An outcome is one of three.
  void sw.inbox.settle('int_1', { outcome: 'perhaps' })
}
