import { freeze } from '../../../coordinator/outputs/freeze.ts'
import type { Command } from '../../command.ts'
import { exits } from '../../exits.ts'
import { planLines, questionLines } from '../../render/plan.ts'
import { take } from '../../with-store.ts'
import { keySummary } from './key-summary.ts'
import { inputOptions, planOffline } from './offline.ts'
import { planExit } from './plan-exit.ts'

export const planMake: Command = {
  name: 'plan INTENT',
  usage:
    'statewright plan INTENT [--registry DIR] [--policy FILE] [--facts FILE|DIR] [--memory FILE] [--answers FILE] [-o DIR] [--key FILE] [--json]',
  summary: 'Make a plan of an intent: judged, frozen, with a reason for every verdict. Nothing runs.',
  options: {
    ...inputOptions,
    out: { type: 'string', short: 'o', summary: 'write what is frozen to this folder' },
    key: { type: 'string', summary: keySummary },
    json: { type: 'boolean', summary: 'print one JSON object' },
  },

  async run(args, io) {
    const [file = ''] = take(this, args, 1)
    const folder = args.values.out as string | undefined
    const { input, ports, coordination } = await planOffline(file, args, io)
    const { state, run_id, waits_for, artifacts } = coordination
    const key = args.values.key === undefined ? undefined : await io.host.planning.readKey(args.values.key as string)
    const files = waits_for === null ? freeze(coordination, input, ports, key?.signer) : null
    if (folder !== undefined && files !== null) await io.host.planning.writePlan(folder, files)

    if (args.values.json === true) {
      const failure = artifacts.failure_pack ?? null
      const names = files === null ? [] : Object.keys(files).sort()
      io.out(JSON.stringify({ state, run_id, question_pack: waits_for, failure, folder: folder ?? null, files: names }))
      return planExit(state)
    }
    if (waits_for !== null) {
      for (const line of questionLines(waits_for)) io.out(line)
      io.err(
        `Write the answers to a file, such as "${waits_for.questions[0]?.key}: ${waits_for.questions[0]?.suggested_answers[0]?.value}", and name it with --answers.`,
      )
      return exits.waiting
    }
    for (const line of planLines(coordination)) (artifacts.failure_pack === undefined ? io.out : io.err)(line)
    if (folder !== undefined) io.err(`Frozen in ${folder}; "statewright plan verify ${folder}" proves it.`)
    return planExit(state)
  },
}
