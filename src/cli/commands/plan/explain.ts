import { envelopeFile } from '../../../coordinator/outputs/freeze.ts'
import type { PlanProblem } from '../../../coordinator/outputs/lineage.ts'
import { verifyPlan } from '../../../coordinator/outputs/verify.ts'
import type { RuleDecisions } from '../../../coordinator/schemas/judgement.ts'
import type { FailurePack } from '../../../coordinator/schemas/plan.ts'
import type { RunTape } from '../../../coordinator/schemas/record.ts'
import { faults } from '../../../faults/catalogue.ts'
import { getPlan, getPlanRules, getPlanTape } from '../../../surface/operations/plans.ts'
import type { Call } from '../../command.ts'
import { exits } from '../../exits.ts'
import type { Io } from '../../host.ts'
import { resolveId } from '../../reach.ts'
import { type Explained, explainLines } from '../../render/plan.ts'
import { safeJson } from '../../render/text.ts'
import { planOffline } from './make.ts'
import type { explainOptions, verifyOptions } from './options.ts'
import { withPlans } from './stored.ts'

/** Explains the verdicts of an intent, of a frozen plan, or of a plan in a store. */
export async function explainPlan(call: Call<typeof explainOptions>): Promise<void> {
  const { values, io } = call
  const explained = await explain(call)
  if (values.json) io.out(safeJson(explained))
  else for (const line of explainLines(explained)) io.out(line)
}

async function explain(call: Call<typeof explainOptions>): Promise<Explained> {
  const [target = ''] = call.words
  if (await call.io.host.planning.isFolder(target)) return frozen(target, call.io)
  if (!/^coord_/.test(target)) {
    const { artifacts, tape } = (await planOffline(call)).coordination
    return { rounds: artifacts.rule_decisions, tape, failure: artifacts.failure_pack ?? null }
  }
  return withPlans(call, { creates: false }, async (client) => {
    const { id: coordination_id } = await resolveId(client, target, 'plan')
    const params = { coordination_id }
    const { rounds } = await client.call(getPlanRules, { params })
    const { failure } = await client.call(getPlan, { params })
    return { rounds, tape: await client.call(getPlanTape, { params }), failure }
  })
}

async function frozen(folder: string, { host }: Io): Promise<Explained> {
  const { files } = await host.planning.readPlan(folder)
  const read = <T>(name: string) => {
    const text = files[name]
    try {
      return text === undefined ? null : (JSON.parse(text) as T)
    } catch {
      throw faults.file_unusable({ file: `${folder}/${name}`, problem: 'it is not JSON; verify the plan first.' })
    }
  }
  const tape = read<RunTape>('run_tape.json')
  if (tape === null)
    throw faults.file_unusable({ file: folder, problem: 'run_tape.json is missing. Name the folder of a frozen plan.' })
  const rounds: RuleDecisions[] = []
  for (;;) {
    const round = read<RuleDecisions>(`rule_decisions_${rounds.length + 1}.json`)
    if (round === null) break
    rounds.push(round)
  }
  return { rounds, tape, failure: read<FailurePack>('failure_pack.json') }
}

/** Without the key, anyone may have written the signature. */
const signatures = {
  checked: ', signed',
  not_checked: '; their signature was not checked, give --key FILE',
  none: '',
}

/** Verifies the files of a frozen plan. */
export async function verifyFolder({ words, values: { key, json }, io }: Call<typeof verifyOptions>): Promise<number> {
  const { host, out, err } = io
  const [folder = ''] = words
  if (!(await host.planning.isFolder(folder))) throw faults.not_found({ what: 'folder', id: folder })
  const { files, strange } = await host.planning.readPlan(folder)
  const check = key === undefined ? undefined : await host.planning.readPublicKey(key)
  const problems: readonly PlanProblem[] = [
    ...strange.map((file) => ({ file, check: 'checksum' as const, message: 'It is not a file of text.' })),
    ...verifyPlan(files, host, check),
  ]
  const is_sound = problems.length === 0
  const signature = key !== undefined ? 'checked' : envelopeFile in files ? 'not_checked' : 'none'
  if (json) out(safeJson({ is_sound, files: Object.keys(files).length, signature, problems }))
  else if (is_sound) out(`${folder}: ${Object.keys(files).length} files verified${signatures[signature]}.`)
  else for (const { file, check: kind, message } of problems) err(`${file} (${kind}): ${message}`)
  return is_sound ? exits.ok : exits.unproved
}
