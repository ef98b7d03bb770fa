import { isRecord } from '../../../coordinator/checksum.ts'
import { withJournal } from '../../../coordinator/outputs/freeze.ts'
import { choicesIn } from '../../../coordinator/questions/answers.ts'
import { isTerminal } from '../../../kernel/machine.ts'
import { type CoordinationState, coordinationMachine } from '../../../machines/coordination.ts'
import { withoutUndefined } from '../../../runtime/options.ts'
import type { Client } from '../../../surface/client.ts'
import { getOutput } from '../../../surface/operations/executions.ts'
import {
  answerPlan,
  getPlan,
  getPlanOutputs,
  getPlanReviewPack,
  getPlanRules,
  listPlans,
} from '../../../surface/operations/plans.ts'
import type { PlanAsked } from '../../../surface/wiring.ts'
import type { PlanCard } from '../../../wire/plan.ts'
import type { Call } from '../../command.ts'
import { exits } from '../../exits.ts'
import { resolveId, whereOf } from '../../reach.ts'
import { planLines, questionLines } from '../../render/plan.ts'
import { ago, clockTime, columns, safeJson } from '../../render/text.ts'
import type { answerOptions, ReportCall, StoreCall, showOptions } from './options.ts'

/** Opens the plans that the arguments name, and closes them however the work ends. */
export async function withPlans<T>(
  { values, io: { host }, refuse }: StoreCall,
  { creates }: Pick<PlanAsked, 'creates'>,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { registry, policy, key: signingKey } = values
  if (values.server !== undefined && [registry, policy, signingKey].some((given) => given !== undefined))
    throw refuse('A server judges by its own registry and policy, and signs with its own key.')
  const judged = policy === undefined ? undefined : await host.planning.readDocument(policy)
  const asked: PlanAsked = withoutUndefined({ creates, registry, policy: judged, signingKey })
  const client = await host.openPlans(whereOf(values), asked)
  return work(client).finally(client.close)
}

/** Reports one plan, or lists all. */
export async function showPlan(call: Call<typeof showOptions>): Promise<number> {
  const { io, values, print } = call
  const [given] = call.words
  return withPlans(call, { creates: false }, async (client) => {
    if (given === undefined) {
      const page = await client.call(listPlans, { query: { limit: 200 } })
      const now = io.host.now()
      print(page, () =>
        columns(page.items.map((row) => [row.coordination_id, row.state, ago(row.updated_at, now), row.intent_id])),
      )
      return exits.ok
    }
    const { id: coordination_id } = await resolveId(client, given, 'plan')
    const card = await client.call(getPlan, { params: { coordination_id } })
    if (values.moves && !values.json)
      for (const { from, to, at, duration_ms, guards } of card.moves) {
        io.out(`${clockTime(at)}  ${from} → ${to}  ${duration_ms} ms`)
        for (const { guard_name, passed, reason } of guards)
          io.out(`          ${passed ? 'holds' : 'does not hold'}: ${guard_name}. ${reason}`)
      }
    return reportPlan(client, card, call)
  })
}

/** Answers the open questions of a plan. */
export async function answerQuestions(call: Call<typeof answerOptions>): Promise<number> {
  const [wanted = ''] = call.words
  const given = await read(call)
  return withPlans(call, { creates: false }, async (client) => {
    const { id: coordination_id } = await resolveId(client, wanted, 'plan')
    const body = withoutUndefined({ ...given, replied_by: call.values.as })
    return reportPlan(client, await client.call(answerPlan, { params: { coordination_id }, body }), call)
  })
}

/** Choices as typed, or a file with an answer pack or choices. */
async function read({ words: [, ...words], io, refuse }: Call<typeof answerOptions>) {
  const [file = ''] = words
  if (words.length > 1 || file.includes('=')) return { choices: pairs(words, refuse) }
  const document = await io.host.planning.readDocument(file)
  if (!isRecord(document)) throw refuse(`${file} holds neither an answer pack nor choices.`)
  if ('question_pack_id' in document) return { answer_pack: document }
  return { choices: choicesIn(document) }
}

function pairs(words: readonly string[], refuse: Call['refuse']): Readonly<Record<string, string>> {
  const given: Record<string, string> = {}
  for (const word of words) {
    const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(word) ?? []
    if (name === '') throw refuse(`Answers are NAME=VALUE, not "${word}".`)
    if (Object.hasOwn(given, name)) throw refuse(`${name} is answered twice; give it one answer.`)
    given[name] = value
  }
  return given
}

/** Reports where a plan stands, writes its files if `--out` was given, and suggests the next command. */
export async function reportPlan(client: Client, card: PlanCard, { values, io, next }: ReportCall): Promise<number> {
  const { coordination_id, state, waits_for, failure } = card
  const { out: folder } = values
  const isOver = isTerminal(coordinationMachine, state)
  if (folder !== undefined && isOver) {
    const times = [card.submitted_at, ...card.moves.map(({ at }) => at)]
    await io.host.planning.writePlan(folder, withJournal(await filesOf(client, coordination_id), times))
  }
  if (values.json) {
    io.out(safeJson(card))
    return planExit(state)
  }
  const lines = waits_for === null ? planLines(await storyFrom(client, card)) : questionLines(waits_for.question_pack)
  io.out(`${coordination_id} of ${card.session_id}`)
  if (isOverdue(card, io.host.now()))
    io.out('Its time is over: answers are refused, and the defaults stand as soon as a process works on it.')
  for (const line of lines) (failure === null ? io.out : io.err)(line)
  if (folder !== undefined && isOver) io.err(`Frozen in ${folder}; "${io.program} plan verify ${folder}" proves it.`)
  const example = waits_for?.question_pack.questions[0]
  if (example !== undefined && !isOverdue(card, io.host.now()))
    next(`plan answer ${coordination_id} ${example.key}=${example.suggested_answers[0]?.value}`)
  else next(`plan explain ${coordination_id}`)
  return planExit(state)
}

function isOverdue({ waits_for }: PlanCard, now: number): boolean {
  return waits_for !== null && waits_for.deadline !== null && waits_for.deadline <= now
}

async function storyFrom(client: Client, { coordination_id, state, run_id, failure }: PlanCard) {
  const params = { coordination_id }
  const { rounds } = await client.call(getPlanRules, { params })
  const review = state === 'DONE' ? await client.call(getPlanReviewPack, { params }) : null
  return { state, run_id: run_id ?? '', decisions: rounds.at(-1)?.decisions ?? [], review, failure }
}

async function filesOf(client: Client, coordination_id: string) {
  const { files } = await client.call(getPlanOutputs, { params: { coordination_id } })
  const texts: Record<string, string> = {}
  for (const { name, ref } of files) texts[name] = (await client.call(getOutput, { params: { ref } })).text
  return texts
}

/** The exit code for the state of a plan. */
export function planExit(state: CoordinationState): number {
  const { tone } = coordinationMachine.states[state]
  return tone === 'good' ? exits.ok : tone === 'waiting' ? exits.waiting : exits.failed
}
