import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, createStatewright, type Json, type Statewright } from 'statewright'
import type { PlanView } from 'statewright/plans'
import { say, scriptedModel } from 'statewright/testing'
import {
  type Entry,
  intentWith,
  usualContent,
  usualFacts,
  usualMemory,
  usualPolicy,
  writeRegistry,
} from './plan-content.ts'

export interface Judging {
  readonly intent?: Json
  readonly content?: readonly Entry[]
  readonly policy?: Json
  readonly memory?: Json
  readonly facts?: Json | null
  /** The answers to each pack of questions, by key; null: the questions are left until their deadline. */
  readonly answers?: readonly (Readonly<Record<string, string>> | null)[]
}

export interface Reading {
  readonly guard_name: string
  readonly passed: boolean
  readonly reason: string
}

/** An entry of the tape, as it is written to `run_tape.json`. */
export interface TapeEntry {
  readonly sequence: number
  readonly from_state: string
  readonly to_state: string
  readonly trigger: string
  readonly guards_evaluated: readonly Reading[]
  readonly outputs_produced: readonly { artifact_type: string; checksum: string }[]
}

export interface Judged {
  readonly view: PlanView
  readonly state: string
  /** Everything that it made, by name. */
  readonly made: Readonly<Record<string, Doc>>
  readonly tape: readonly TapeEntry[]
  /** Where it went, in order. */
  readonly path: readonly string[]
  /** The guards of the last move that did not hold. */
  readonly failing: readonly string[]
  readonly failure: { readonly failure_type: string; readonly cause: string; readonly failed_at_state: string } | null
}

export type Doc = Readonly<Record<string, unknown>>

export const bystander = agent({ role: 'bystander', model: scriptedModel([say('Hello.')]) })

/** A program that makes plans, on a store and a registry of its own, for as long as the work lasts. */
export async function withPlans<T>(
  { content = usualContent, policy = usualPolicy }: Pick<Judging, 'content' | 'policy'>,
  work: (sw: Statewright, folder: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'statewright-plans-'))
  const registry = writeRegistry(folder, content)
  const sw = await createStatewright({
    store: 'memory:',
    agents: { bystander },
    plans: { registry, policy },
    warn: () => {},
  })
  try {
    return await work(sw, folder)
  } finally {
    await sw.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Has an intent judged by a program as an operator sets it up, and gives back all that can be seen of it. */
export function judge(judging: Judging = {}): Promise<Judged> {
  const { intent = intentWith(), memory = usualMemory, facts = usualFacts, answers = [] } = judging
  return withPlans(judging, async (sw) => {
    let view = await sw.plans.submit({
      intent,
      memory,
      ...(facts === null ? {} : { facts }),
      ...(answers.includes(null) ? { answerTimeoutMs: 50 } : {}),
    })
    for (const choices of answers)
      view =
        choices === null
          ? await untilLeft(sw, view)
          : await sw.plans.answer(view.coordination_id, { choices, repliedBy: 'mia' })
    return judgedOf(sw, view)
  })
}

export async function judgedOf(sw: Statewright, view: PlanView): Promise<Judged> {
  const made = (await sw.plans.documents(view.coordination_id)) as Readonly<Record<string, Doc>>
  const tape = (made.run_tape?.entries ?? []) as readonly TapeEntry[]
  return {
    view,
    state: view.state,
    made,
    tape,
    path: tape.map(({ to_state }) => to_state),
    failing: (tape.at(-1)?.guards_evaluated ?? []).filter(({ passed }) => !passed).map(({ guard_name }) => guard_name),
    failure: (made.failure_pack ?? null) as Judged['failure'],
  }
}

/** No answer comes, and the deadline passes. */
async function untilLeft(sw: Statewright, view: PlanView): Promise<PlanView> {
  for (;;) {
    const now = await sw.plans.show(view.coordination_id)
    if (now.state !== 'AWAITING_ANSWERS') return sw.plans.rest(view.coordination_id)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
