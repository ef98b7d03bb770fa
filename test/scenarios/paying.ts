import type { ModelRequest } from '../../src/runtime/model.ts'
import { call, type Scripted, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import type { ToolDefinition } from '../../src/runtime/tools/define-tool.ts'
import { heldTool, type Stage } from './stage.ts'

export const pay = call('bank.pay', { to: 'bob' })

/** An agent that may pay, with a bank that takes as long as the test wants. */
export function paying(...parts: readonly (Scripted | Partial<ToolDefinition<never>>)[]) {
  const script = parts.filter((part): part is Scripted => 'calls' in part)
  const definition = parts.find((part) => !('calls' in part)) ?? { irreversible: true }
  return () => {
    const requests: ModelRequest[] = []
    const bank = heldTool({ name: 'bank.pay', timeoutMs: 10_000, ...definition })
    const model = scriptedModel((request, answered) => {
      requests.push(structuredClone(request))
      return script[answered] ?? say('?')
    })
    return { bank, requests, model, tools: [bank] }
  }
}

/** Submits, waits until the action is under way, and loses the worker. */
export async function loseWorker(
  { world, submit }: Stage,
  bank: { hasBegun(): Promise<void> },
  submission: Parameters<Stage['submit']>[0] = {},
  changes: Parameters<Stage['world']['revive']>[0] = {},
) {
  const run = await submit(submission)
  await bank.hasBegun()
  await world.revive(changes)
  await world.sw.idle()
  return run
}

/** Moves the clock of the play on, for as long as a store in another process may take in real time. */
export async function until(step: () => Promise<unknown>, holds: () => Promise<boolean>) {
  for (const deadline = Date.now() + 20_000; !(await holds()); await step())
    if (Date.now() > deadline) throw new Error('It never came about.')
}
