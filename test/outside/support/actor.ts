import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Agent, agent, DidNotHappen, type Json, type Model, type Tool, tool } from 'statewright'
import { scriptedModel } from 'statewright/testing'
import { z } from 'zod'
import { gatesIn } from './gates.ts'

/** One answer of the actor. The input of a run is a list of these. */
export interface Step {
  readonly text: string
  readonly calls: readonly { readonly name: string; readonly arguments: string | Json }[]
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
  readonly emotion?: { readonly primary: string; readonly category: string; readonly confidence: number }
  readonly error?: { readonly errorType: string; readonly message: string; readonly retryable: boolean }
  /** Half of the text is said, and the other half when this gate is open. */
  readonly holds?: string
  /** The stream breaks so often, and then it does not. */
  readonly times?: number
}

/** An answer that stops in the middle of its text until the gate is open. */
export const holding = (gate: string, step: Step): Step => ({ ...step, holds: gate })

/** An answer whose stream breaks so often before it comes whole. */
export const breaking = (times: number, step: Step): Step => ({ ...step, times })

/** A model that says and calls what the newest input tells it to, step by step, in whatever process it is asked. */
export function actorModel(folder: string): Model {
  const { note, pass } = gatesIn(folder)
  return {
    id: 'actor',
    stream(request, signal) {
      note('requests', request)
      const begun = request.messages.findLastIndex(({ role }) => role === 'user')
      const input = request.messages[begun]
      const said = request.messages.slice(begun + 1).filter(({ role }) => role === 'assistant')
      const whole = said.filter((message) => !('partial' in message && message.partial === true)).length
      const script = scriptIn(input !== undefined && 'content' in input ? input.content : [])
      const step = (Array.isArray(script) ? (script as readonly Step[])[whole] : undefined) ?? saying(script)
      const { error, times = Number.POSITIVE_INFINITY, holds, ...rest } = step
      const isBroken = error !== undefined && said.length - whole < times
      const played = scriptedModel(() => (isBroken ? { ...rest, error } : rest), {
        pieces: holds === undefined ? 1 : 2,
        beforeDelta: (index) => (holds === undefined || index === 0 ? undefined : pass(holds, signal)),
      })
      return played.stream(request, signal)
    },
  }
}

/** A task that one agent hands to another is a text; it holds the same list, as JSON. */
function scriptIn(content: unknown): unknown {
  return typeof content === 'string' && content.startsWith('[') ? JSON.parse(content) : content
}

const saying = (input: unknown): Step => ({ text: `I was told ${JSON.stringify(input)}.`, calls: [] })

interface Given {
  /** The tool waits for this gate. */
  readonly until?: string | undefined
  /** It throws, and says that nothing happened. */
  readonly declined?: string | undefined
  /** It throws. */
  readonly broken?: string | undefined
  /** It throws in a timer, where no code can catch it. */
  readonly crashes?: string | undefined
  /** Its reports while it works. */
  readonly reports?: readonly (readonly ['stdout' | 'stderr' | 'message', string])[] | undefined
  readonly result?: unknown
}

const given = z.looseObject({
  until: z.string().optional(),
  declined: z.string().optional(),
  broken: z.string().optional(),
  crashes: z.string().optional(),
  reports: z.array(z.tuple([z.enum(['stdout', 'stderr', 'message']), z.string()])).optional(),
  result: z.unknown().optional(),
})

/** The effects on the world, as the world saw them: each tool notes when it begins and when it ends. */
export interface Effect {
  readonly tool: string
  readonly phase: 'begins' | 'ends' | 'hears it is over'
  readonly key: string
  readonly execution_id: string
}

/** Tools of every kind, all of which do what their arguments say. */
export function actorTools(folder: string): readonly Tool[] {
  const { note, pass } = gatesIn(folder)
  const made = (name: string, more: Partial<Parameters<typeof tool<typeof given>>[0]>): Tool =>
    tool({
      name,
      input: given,
      ...more,
      async run(args: Given, { idempotencyKey: key, executionId, signal, progress }) {
        const tell = (phase: Effect['phase']) => note('effects', { tool: name, phase, key, execution_id: executionId })
        tell('begins')
        signal.addEventListener('abort', () => tell('hears it is over'))
        if (args.crashes !== undefined) {
          const { crashes } = args
          setTimeout(() => {
            throw new Error(crashes)
          }, 10)
          await new Promise(() => {})
        }
        for (const [stream, chunk] of args.reports ?? []) progress(chunk, stream)
        if (args.until !== undefined) await pass(args.until, signal)
        signal.throwIfAborted()
        if (args.declined !== undefined) throw new DidNotHappen(args.declined)
        if (args.broken !== undefined) throw new Error(args.broken)
        tell('ends')
        return (args.result ?? { done: name }) as Json
      },
    })
  return [
    made('look', { readOnly: true }),
    made('work', {}),
    made('work.asked', { approval: 'always' }),
    made('work.brief', { timeoutMs: 150 }),
    made('pay', { irreversible: true }),
    made('pay.asked', { irreversible: true, approval: 'always' }),
    made('pay.brief', { irreversible: true, timeoutMs: 150 }),
  ]
}

/** Agents that do what the input says, with different limits. */
export function actors(folder: string): Readonly<Record<string, Agent>> {
  const model = actorModel(folder)
  const tools = actorTools(folder)
  const usual = { role: 'actor', model, tools, retries: { tries: 3, firstDelayMs: 1, longestDelayMs: 1 } }
  return {
    actor: agent(usual),
    second: agent({ ...usual, role: 'second' }),
    leaver: agent({ ...usual, role: 'leaver' }),
    lead: agent({ ...usual, role: 'lead', delegates: ['helper', 'second'] }),
    helper: agent({ ...usual, role: 'helper' }),
    frugal: agent({ ...usual, role: 'frugal', budget: { toolCalls: 1 } }),
    terse: agent({ ...usual, role: 'terse', budget: { tokens: 4 } }),
    brief: agent({ ...usual, role: 'brief', budget: { wallTimeMs: 300 } }),
    unfit: agent({
      ...usual,
      role: 'unfit',
      prepare() {
        appendFileSync(join(folder, 'prepared'), '.')
        if (gatesIn(folder).isOpen('unfit')) throw new Error('There is no key for the service.')
      },
    }),
  }
}
