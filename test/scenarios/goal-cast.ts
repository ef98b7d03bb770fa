import { z } from 'zod'
import { goalMachine } from '../../src/machines/goal.ts'
import type { Rune } from '../../src/runes/rune.ts'
import { type Agent, agent } from '../../src/runtime/define-agent.ts'
import type { Model, ModelRequest } from '../../src/runtime/model.ts'
import { type Scripted, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import type { Tool } from '../../src/runtime/tools/tool.ts'

/** Answers of an agent by the task it works on; a task that is not named is simply done. */
export type Parts = Readonly<Record<string, readonly Scripted[] | ((asked: string) => readonly Scripted[])>>

export function playsTasks(parts: Parts = {}): Model {
  return scriptedModel((request, answered) => {
    const asked = askedOf(request)
    const task = /^Task (\S+):/.exec(asked)?.[1] ?? ''
    const part = parts[task] ?? [say(`${task} is done`)]
    const script = typeof part === 'function' ? part(asked) : part
    return script[answered] ?? say(`${task} is done`)
  })
}

/** The newest input of the agent. */
export function askedOf({ messages }: ModelRequest): string {
  const last = messages.findLast((message) => message.role === 'user')
  return typeof last?.content === 'string' ? last.content : JSON.stringify(last?.content ?? '')
}

/** A model that answers with JSON, one after the other over all that it is ever asked; the last one again and again. */
export function answersJson(...answers: readonly unknown[]): Model {
  let asked = 0
  return scriptedModel(() => say(JSON.stringify(answers[Math.min(asked++, answers.length - 1)])))
}

export const look: Tool = tool({ name: 'shop.look', input: z.looseObject({}), readOnly: true, run: () => 'seen' })

export function payTool(more: Partial<Parameters<typeof tool>[0]> = {}) {
  const paid: number[] = []
  const it = tool({
    name: 'shop.pay',
    input: z.object({ cents: z.number() }),
    irreversible: true,
    run: (args) => {
      paid.push((args as { cents: number }).cents)
      return { paid: (args as { cents: number }).cents }
    },
    ...more,
  })
  return { tool: it, paid }
}

export function worker(parts: Parts = {}, more: Partial<Parameters<typeof agent>[0]> = {}): Agent {
  return agent({ role: 'worker', model: playsTasks(parts), tools: [look, payTool().tool], ...more })
}

export const planner = (...drafts: readonly unknown[]): Agent =>
  agent({ role: 'planner', model: answersJson(...drafts) })

export const critic = (...critiques: readonly unknown[]): Agent =>
  agent({ role: 'critic', model: answersJson(...critiques) })

export const content = { summary: 'All is well.', findings: [] }

/** `note('a', 'b')`: a task b that comes after a. */
export const note = (id: string, ...depends_on: readonly string[]) => ({
  id,
  command: 'cmd_note',
  intent: `Do ${id}.`,
  owner: 'worker',
  depends_on,
})

export const planOf = (...tasks: readonly object[]) => ({ tasks }) as never

/** Every move of a goal in a log, as `from → to on trigger`. */
export function goalMoves(runes: readonly Rune[]): readonly string[] {
  const at = new Map<string, string>()
  return runes.flatMap((rune) => {
    if (rune.machine === 'goal') at.set(rune.subject_id ?? '', rune.to ?? '')
    if (rune.machine === 'goal' && rune.trigger !== null) return [`${rune.from} → ${rune.to} on ${rune.trigger}`]
    const here = at.get(rune.goal_id ?? '')
    return rune.kind === 'plan.task_completed' && here === 'executing' ? [`${here} → ${here} on task_completed`] : []
  })
}

export const goalEdges = goalMachine.transitions.map(({ from, to, on }) => `${from} → ${to} on ${on}`)
