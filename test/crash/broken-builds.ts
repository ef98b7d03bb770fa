import type { Json } from '../../src/kernel/json.ts'
import type { Append } from '../../src/runelog/port.ts'
import type { Draft } from '../../src/runes/rune.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import type { Build } from './in-process.ts'

/**
 * The write-ahead order reversed: a tool is called when the record of its start
 * is handed to the store, and that record is written when the tool is done.
 */
export const actsBeforeItRecords: Build = ({ store, tools, outside }) => {
  const done = new Map<string, Promise<Json> | Json>()

  async function actOn(batch: Append) {
    const runes = [...(await store.runelog.read(batch.session_id)), ...batch.runes] as readonly Draft[]
    for (const { call_id = '', execution_id = '', run_id = '' } of startedBy(batch)) {
      const call = runes.find((r): r is Draft<'tool.call'> => r.kind === 'tool.call' && r.call_id === call_id)
      const opened = runes.find(
        (r): r is Draft<'contract.opened'> => r.kind === 'contract.opened' && r.execution_id === execution_id,
      )
      const called = tools.find(({ name }) => name === call?.payload.tool_name)
      if (call === undefined || called === undefined) continue
      const context = {
        idempotencyKey: opened?.payload.idempotency_key ?? call_id,
        sessionId: batch.session_id,
        runId: run_id,
        callId: call_id,
        executionId: execution_id,
        signal: new AbortController().signal,
        ask: async () => ({ action: 'silence' }) as const,
        progress: () => {},
        redact: async (text: string) => text,
      }
      const acting = called.run(call.payload.arguments, context)
      done.set(call_id, acting)
      await Promise.allSettled([acting])
    }
  }

  const runelog = {
    ...store.runelog,
    async append(batch: Append) {
      await actOn(batch)
      return store.runelog.append(batch)
    },
  }
  return {
    outside,
    store: { ...store, runelog },
    tools: tools.map((honest) => tool({ ...honest, run: (_args, { callId }) => done.get(callId) ?? null })),
  }
}

/** The contracts that are running once the batch is recorded: an effect follows. */
function startedBy({ runes }: Append): readonly Draft[] {
  const last = new Map(runes.flatMap((r) => (r.kind === 'contract.moved' ? [[r.execution_id, r]] : [])))
  return [...last.values()].filter((rune) => rune.to === 'running')
}

/** Every call of a dead worker is begun again. */
export const retriesWhatWasLost: Build = ({ tools, ...rest }) => ({
  ...rest,
  tools: tools.map((honest) => tool({ ...honest, idempotent: true })),
})

/** A reply is acknowledged when it arrives, and recorded afterwards. */
export const acknowledgesBeforeItRecords: Build = ({ store, tools, outside }) => {
  const runelog = {
    ...store.runelog,
    async append(batch: Append) {
      for (const rune of batch.runes)
        if (rune.kind === 'interaction.answered')
          await outside.note({
            told: 'replied',
            interaction_id: rune.interaction_id ?? '',
            reply: (rune as Draft<'interaction.answered'>).payload.reply,
          })
      return store.runelog.append(batch)
    },
  }
  return { store: { ...store, runelog }, tools, outside }
}
