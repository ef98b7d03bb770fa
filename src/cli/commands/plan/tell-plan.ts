import { withJournal } from '../../../coordinator/outputs/journal.ts'
import type { Client } from '../../../surface/client.ts'
import { getOutput } from '../../../surface/operations/outputs.ts'
import { getPlanOutputs, getPlanReviewPack, getPlanRules } from '../../../surface/operations/plans.ts'
import type { PlanCard } from '../../../wire/plan.ts'
import type { Arguments } from '../../command.ts'
import { next } from '../../hint.ts'
import type { Io } from '../../host.ts'
import { planLines, questionLines } from '../../render/plan.ts'
import { safeJson } from '../../render/safe.ts'
import { planExit } from './plan-exit.ts'

/** Says where a plan stands, writes what it left behind if that is asked for, and what to do next. */
export async function tellPlan(client: Client, card: PlanCard, args: Arguments, io: Io): Promise<number> {
  const { coordination_id, state, waits_for, failure } = card
  const folder = args.values.out as string | undefined
  const isOver = state === 'DONE' || failure !== null
  if (folder !== undefined && isOver) {
    const times = [card.submitted_at, ...card.moves.map(({ at }) => at)]
    await io.host.planning.writePlan(folder, withJournal(await filesOf(client, coordination_id), times))
  }
  if (args.values.json === true) {
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
    next(io, args, `plan answer ${coordination_id} ${example.key}=${example.suggested_answers[0]?.value}`)
  else next(io, args, `plan explain ${coordination_id}`)
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

/** Every frozen file, by name. */
async function filesOf(client: Client, coordination_id: string) {
  const { files } = await client.call(getPlanOutputs, { params: { coordination_id } })
  const texts: Record<string, string> = {}
  for (const { name, ref } of files) texts[name] = (await client.call(getOutput, { params: { ref } })).text
  return texts
}
