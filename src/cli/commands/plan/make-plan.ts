import { freeze } from '../../../coordinator/outputs/freeze.ts'
import { journalOf, withJournal } from '../../../coordinator/outputs/journal.ts'
import { submitPlan } from '../../../surface/operations/plan-commands.ts'
import type { Arguments, Command } from '../../command.ts'
import { exits } from '../../exits.ts'
import type { Io } from '../../host.ts'
import { planLines, questionLines, storyOf } from '../../render/plan.ts'
import { safeJson } from '../../render/safe.ts'
import { resolveId } from '../../resolve-id.ts'
import { badUsage, countOf } from '../../usage.ts'
import { take } from '../../with-store.ts'
import { planOffline, readGiven } from './offline.ts'
import { planExit } from './plan-exit.ts'
import { tellPlan } from './tell-plan.ts'
import { withPlans } from './with-plans.ts'

export async function makePlan(command: Command, args: Arguments, io: Io): Promise<number> {
  const [file = ''] = take(command, args, 1)
  const { store, server } = args.values
  if (store !== undefined || server !== undefined) return submit(command, file, args, io)
  if (args.values.timeout !== undefined) throw badUsage(command, 'Without a store there is nobody to wait.')
  return makeHere(file, args, io)
}

/** From files to files: nothing is kept but what is written to the folder. */
async function makeHere(file: string, args: Arguments, io: Io): Promise<number> {
  const folder = args.values.out as string | undefined
  const { input, ports, coordination, times } = await planOffline(file, args, io)
  const { state, run_id, waits_for, artifacts } = coordination
  const key = args.values.key === undefined ? undefined : await io.host.planning.readKey(args.values.key as string)
  const files = waits_for === null ? freeze(coordination, input, ports, key?.signer) : null
  if (folder !== undefined && files !== null) await io.host.planning.writePlan(folder, withJournal(files, times))

  if (args.values.json === true) {
    const failure = artifacts.failure_pack ?? null
    const names = files === null ? [] : Object.keys(files).sort()
    const { entries } = journalOf(coordination.tape, times)
    const told = { state, run_id, question_pack: waits_for, failure, folder: folder ?? null, files: names }
    io.out(safeJson({ ...told, moves: entries }))
    return planExit(state)
  }
  if (waits_for !== null) {
    for (const line of questionLines(waits_for)) io.out(line)
    const [first] = waits_for.questions
    const example = `${first?.key}: ${first?.suggested_answers[0]?.value}`
    io.err(`Write the answers to a file, such as "${example}", and name it with --answers.`)
    return exits.waiting
  }
  for (const line of planLines(storyOf(coordination))) (artifacts.failure_pack === undefined ? io.out : io.err)(line)
  if (folder !== undefined) io.err(`Frozen in ${folder}; "${io.program} plan verify ${folder}" proves it.`)
  return planExit(state)
}

/** In a store, where it waits for its answers however long that takes. */
async function submit(command: Command, file: string, args: Arguments, io: Io): Promise<number> {
  if (args.values.answers !== undefined)
    throw badUsage(command, 'In a store a plan is answered when it asks: statewright plan answer ID NAME=VALUE.')
  const given = await readGiven(file, args, io)
  const seconds = countOf(command, args, 'timeout')
  const timeout = seconds === undefined ? {} : { answer_timeout_ms: seconds * 1_000 }
  const earlier = args.values.recovers as string | undefined
  return withPlans(command, args, io, true, async (client) => {
    const recovers = earlier === undefined ? {} : { recovers: (await resolveId(client, earlier, 'plan')).id }
    return tellPlan(client, await client.call(submitPlan, { body: { ...given, ...timeout, ...recovers } }), args, io)
  })
}
