import { z } from 'zod'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { DidNotHappen, type Tool, type ToolContext } from '../../src/runtime/tools/tool.ts'
import type { Life } from './life.ts'
import { answerTo, type Outside } from './outside.ts'

type Declared = Partial<Pick<Tool, 'irreversible' | 'idempotent' | 'readOnly' | 'approval'>> & {
  /** The answer of the world to whether an action happened. */
  readonly probe?: 'truthful' | 'cannot_tell'
  /** Instead of doing anything it fails. */
  readonly refuses?: true
  /** Once it is done, it goes on until it is told to stop. */
  readonly lingers?: true
  /** Once it is done, it never returns, whatever it is told. */
  readonly deaf?: true
  /** Before it does anything it asks so many people at once. */
  readonly asks?: number
}

/** One tool of every kind that recovery treats differently. */
export const declarations = {
  'notes.read': { readOnly: true, approval: 'never' },
  'notes.write': { approval: 'never' },
  'index.put': { idempotent: true, approval: 'never' },
  'ledger.post': { irreversible: true, idempotent: true, approval: 'never' },
  'payments.charge': { irreversible: true, approval: 'never' },
  'payments.bounce': { irreversible: true, approval: 'never', refuses: true },
  'payments.refund': { irreversible: true, approval: 'always' },
  'accounts.delete': { irreversible: true, approval: 'always' },
  'mail.send': { irreversible: true, approval: 'never', probe: 'truthful' },
  'fax.send': { irreversible: true, approval: 'never', probe: 'cannot_tell' },
  'rockets.launch': { irreversible: true, approval: 'never', lingers: true },
  'radio.listen': { approval: 'never', deaf: true },
  'surveys.take': { idempotent: true, approval: 'never', asks: 2 },
  'deeds.sign': { irreversible: true, approval: 'never', asks: 1 },
  'deeds.file': { irreversible: true, approval: 'always', asks: 2 },
} as const satisfies Readonly<Record<string, Declared>>

export type ToolName = keyof typeof declarations

export function isRepeatable(name: string): boolean {
  const declared: Declared = declarations[name as ToolName]
  return declared.idempotent === true || declared.readOnly === true
}

const question = { title: 'Which?', fields: [{ name: 'which', required: true }] }

const input = z.strictObject({ what: z.string() })

/** The tools of one life: it may die before and after each of their effects, and around each question to the world. */
export function createTools(outside: Outside, life: Life): readonly Tool[] {
  return Object.entries(declarations).map(
    ([name, { probe, refuses, lingers, deaf, asks = 0, ...declared }]: [string, Declared]) =>
      tool({
        name,
        input,
        timeoutMs: 600_000,
        ...declared,
        ...(probe === undefined ? {} : { probe: (key: string) => ask(outside, life, name, key, probe) }),
        async run(_args, context) {
          await Promise.all(Array.from({ length: asks }, () => context.ask(question)))
          await life.point(`before effect of ${name}`)
          if (refuses) throw new DidNotHappen('The card was refused.')
          context.progress('on its way')
          const answer = await outside.receive(effectOf(name, context))
          await life.point(`after effect of ${name}`)
          if (lingers) await stopped(context.signal)
          if (deaf) await new Promise(() => {})
          return answer
        },
      }),
  )
}

export function effectOf(name: string, { idempotencyKey, ...context }: ToolContext) {
  const { sessionId, runId, callId, executionId } = context
  return {
    tool: name,
    key: idempotencyKey,
    session_id: sessionId,
    run_id: runId,
    call_id: callId,
    execution_id: executionId,
  }
}

async function ask(outside: Outside, life: Life, name: string, key: string, probe: 'truthful' | 'cannot_tell') {
  await life.point(`before asking about ${name}`)
  const happened = (await outside.effects()).some((effect) => effect.tool === name && effect.key === key)
  await life.point(`after asking about ${name}`)
  if (probe === 'cannot_tell') return { outcome: 'cannot_tell' as const }
  return happened
    ? { outcome: 'happened' as const, result: answerTo({ tool: name, key }) }
    : { outcome: 'did_not' as const }
}

function stopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
}
