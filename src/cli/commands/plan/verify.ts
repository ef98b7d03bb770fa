import type { PlanProblem } from '../../../coordinator/outputs/plan-problem.ts'
import { verifyPlan } from '../../../coordinator/outputs/verify.ts'
import type { Command } from '../../command.ts'
import { exits } from '../../exits.ts'
import { take } from '../../with-store.ts'
import { keySummary } from './key-summary.ts'

export const planVerify: Command = {
  name: 'plan verify',
  usage: 'statewright plan verify DIR [--key FILE] [--json]',
  summary: 'Prove that no byte of a frozen plan was changed; with a key, also who signed it. Exit 5 if not.',
  options: {
    key: { type: 'string', summary: keySummary },
    json: { type: 'boolean', summary: 'print one JSON object' },
  },

  async run(args, { host, out, err }) {
    const [folder = ''] = take(this, args, 1)
    const { files, strange } = await host.planning.readPlan(folder)
    const key = args.values.key as string | undefined
    const check = key === undefined ? undefined : await host.planning.readPublicKey(key)
    const problems: readonly PlanProblem[] = [
      ...strange.map((file) => ({ file, check: 'checksum' as const, message: 'It is not a file of text.' })),
      ...verifyPlan(files, host, check),
    ]
    const is_sound = problems.length === 0
    if (args.values.json === true) out(JSON.stringify({ is_sound, files: Object.keys(files).length, problems }))
    else if (is_sound)
      out(`${folder}: ${Object.keys(files).length} files verified${key === undefined ? '' : ', signed'}.`)
    else for (const { file, check: kind, message } of problems) err(`${file} (${kind}): ${message}`)
    return is_sound ? exits.ok : exits.unproved
  },
}
