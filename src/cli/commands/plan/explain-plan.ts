import type { FailurePack } from '../../../coordinator/schemas/ending.ts'
import type { RuleDecisions } from '../../../coordinator/schemas/judgement.ts'
import type { RunTape } from '../../../coordinator/schemas/record.ts'
import { faults } from '../../../faults/catalogue.ts'
import { getPlan, getPlanRules, getPlanTape } from '../../../surface/operations/plans.ts'
import type { Arguments, Command } from '../../command.ts'
import { exits } from '../../exits.ts'
import type { Io } from '../../host.ts'
import { type Explained, explainLines } from '../../render/explain.ts'
import { safeJson } from '../../render/safe.ts'
import { resolveId } from '../../resolve-id.ts'
import { take } from '../../with-store.ts'
import { planOffline } from './offline.ts'
import { withPlans } from './with-plans.ts'

export async function explainPlan(command: Command, args: Arguments, io: Io): Promise<number> {
  const [target = ''] = take(command, args, 1)
  const explained = await explain(command, target, args, io)
  if (args.values.json === true) io.out(safeJson(explained))
  else for (const line of explainLines(explained)) io.out(line)
  return exits.ok
}

async function explain(command: Command, target: string, args: Arguments, io: Io): Promise<Explained> {
  if (await io.host.planning.isFolder(target)) return frozen(target, io)
  if (!/^coord_/.test(target)) return fresh(target, args, io)
  return withPlans(command, args, io, false, async (client) => {
    const { id: coordination_id } = await resolveId(client, target, 'plan')
    const params = { coordination_id }
    const { rounds } = await client.call(getPlanRules, { params })
    const { failure } = await client.call(getPlan, { params })
    return { rounds, tape: await client.call(getPlanTape, { params }), failure }
  })
}

async function fresh(file: string, args: Arguments, io: Io): Promise<Explained> {
  const { artifacts, tape } = (await planOffline(file, args, io)).coordination
  return { rounds: artifacts.rule_decisions, tape, failure: artifacts.failure_pack ?? null }
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
    throw faults.file_unusable({ file: folder, problem: 'it holds no run_tape.json, so it is no plan.' })
  const rounds: RuleDecisions[] = []
  for (let n = 1; ; n++) {
    const round = read<RuleDecisions>(`rule_decisions_${n}.json`)
    if (round === null) break
    rounds.push(round)
  }
  return { rounds, tape, failure: read<FailurePack>('failure_pack.json') }
}
