import type { FailurePack } from '../../../coordinator/schemas/failure-pack.ts'
import type { RuleDecisions } from '../../../coordinator/schemas/rule-decision.ts'
import type { RunTape } from '../../../coordinator/schemas/run-tape.ts'
import { faults } from '../../../faults/catalogue.ts'
import type { Arguments, Command, Io } from '../../command.ts'
import { exits } from '../../exits.ts'
import { type Explained, explainLines } from '../../render/explain.ts'
import { take } from '../../with-store.ts'
import { inputOptions, planOffline } from './offline.ts'

export const planExplain: Command = {
  name: 'plan explain',
  usage:
    'statewright plan explain INTENT|DIR [--registry DIR] [--policy FILE] [--facts FILE|DIR] [--memory FILE] [--answers FILE] [--json]',
  summary: 'Say why each command got its verdict: the rules that spoke, their reasons, the evidence, the guards.',
  options: { ...inputOptions, json: { type: 'boolean', summary: 'print one JSON object' } },

  async run(args, io) {
    const [target = ''] = take(this, args, 1)
    const explained = (await io.host.planning.isFolder(target))
      ? await frozen(target, io)
      : await fresh(target, args, io)
    if (args.values.json === true) io.out(JSON.stringify(explained))
    else for (const line of explainLines(explained)) io.out(line)
    return exits.ok
  },
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
