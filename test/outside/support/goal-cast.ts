import { type Agent, agent, type Model, type Tool, tool } from 'statewright'
import { say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'
import type { Step } from './actor.ts'
import { agentEntry, commandEntry, type Entry, ruleEntry } from './plan-content.ts'

/** Notes are taken side by side, writing is reviewed, deploying is denied. */
export const goalContent: readonly Entry[] = [
  {
    kind: 'workflow',
    id: 'wf_goal',
    version: '1.0.0',
    status: 'active',
    title: 'Work towards a goal',
    lineage: { is_root: true },
    phases: [
      { phase: 'analysis', role: 'worker', commands: ['cmd_note', 'cmd_look'], parallel: true },
      { phase: 'implementation', role: 'worker', commands: ['cmd_write', 'cmd_deploy'], parallel: true },
    ],
  },
  agentEntry('worker', { roles: ['worker'] }),
  agentEntry('builder', { roles: ['builder'] }),
  commandEntry('cmd_note'),
  commandEntry('cmd_look', { tools: [{ name: 'shop.look' }] }),
  commandEntry('cmd_write', { effects: ['write'], risk_level: 'medium', rollback: 'Undo it.' }),
  commandEntry('cmd_deploy', { effects: ['deploy'], risk_level: 'high', rollback: 'Deploy the one before.' }),
  ruleEntry('rule_known', 'allow', 'context.evidence_count >= 0', 'info'),
  ruleEntry('rule_deploy', 'deny', 'context.effects.contains("deploy")'),
]

/** The answers of an agent, by task; a task that is not named is simply done. */
export type Parts = Readonly<Record<string, readonly Step[] | ((asked: string) => readonly Step[])>>

function playsTasks(parts: Parts): Model {
  return scriptedModel(({ messages }, answered) => {
    const last = messages.findLast(({ role }) => role === 'user')
    const asked = last !== undefined && 'content' in last ? String(last.content) : ''
    const task = /^Task (\S+):/.exec(asked)?.[1] ?? ''
    const part = parts[task] ?? []
    const script = typeof part === 'function' ? part(asked) : part
    return script[answered] ?? say(`${task} is done`)
  })
}

/** A model that answers with JSON, one after the other over all that it is ever asked; the last one again and again. */
function answersJson(...answers: readonly unknown[]): Model {
  let asked = 0
  return scriptedModel(() => say(JSON.stringify(answers[Math.min(asked++, answers.length - 1)])))
}

/** A tool that the test lets go on. */
export function heldLook(): { readonly tool: Tool; readonly begun: () => number; readonly release: () => void } {
  const waiting: (() => void)[] = []
  let begun = 0
  return {
    begun: () => begun,
    release: () => waiting.shift()?.(),
    tool: tool({
      name: 'shop.look',
      input: z.looseObject({}),
      readOnly: true,
      async run(_args, { signal }) {
        begun += 1
        await new Promise<void>((resolve) => {
          waiting.push(resolve)
          signal.addEventListener('abort', () => resolve())
        })
        return 'seen'
      },
    }),
  }
}

export const worker = (parts: Parts = {}, tools: readonly Tool[] = []): Agent =>
  agent({ role: 'worker', model: playsTasks(parts), tools })

export const planner = (...drafts: readonly unknown[]): Agent =>
  agent({ role: 'planner', model: answersJson(...drafts) })

export const critic = (...critiques: readonly unknown[]): Agent =>
  agent({ role: 'critic', model: answersJson(...critiques) })

export const content = { summary: 'All is well.', findings: [] }

export const finding = (task: string, title = 'It is wrong') => ({
  severity: 'error',
  category: 'correctness',
  title,
  description: 'See for yourself.',
  task,
})

/** `note('tb', 'ta')`: a task tb that comes after ta. */
export const note = (id: string, ...depends_on: readonly string[]) => ({
  id,
  command: 'cmd_note',
  intent: `Do ${id}.`,
  owner: 'worker',
  depends_on,
})
