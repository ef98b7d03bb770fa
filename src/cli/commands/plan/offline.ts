import { sealIntent } from '../../../coordinator/checksum.ts'
import { coordinationOf, recoveryOf } from '../../../coordinator/coordinate.ts'
import { arrive, begin, isAtRest, step } from '../../../coordinator/engine.ts'
import { verifyPlan } from '../../../coordinator/outputs/verify.ts'
import type { CoordinationInput, Ports, Progress, Refused } from '../../../coordinator/progress.ts'
import { readRound } from '../../../coordinator/questions/choose.ts'
import { type Recovers, runTape } from '../../../coordinator/schemas/record.ts'
import { faults } from '../../../faults/catalogue.ts'
import type { Json } from '../../../kernel/json.ts'
import type { Arguments } from '../../command.ts'
import type { Io } from '../../host.ts'

/** What whoever submits an intent brings along: the intent, what is known about the project, what is remembered. */
export async function readGiven(file: string, { values }: Arguments, { host }: Io) {
  const { planning, sha256 } = host
  const intent = sealIntent(await planning.readDocument(file), sha256)
  const { memory, facts } = values as { memory?: string; facts?: string }
  const [project_id, repo_root] = scopeOf(intent)
  const where = facts ?? repo_root
  const scanned = await planning.isFolder(where)
  return {
    intent: intent as Readonly<Record<string, Json>>,
    memory:
      memory === undefined
        ? { schema_version: '1.0.0', project_id, memories: [] }
        : await planning.readDocument(memory),
    facts: scanned
      ? ((await planning.scan(where, project_id)) as unknown as Json)
      : facts === undefined
        ? null
        : await planning.readDocument(facts),
  }
}

async function readInput(file: string, args: Arguments, io: Io): Promise<CoordinationInput> {
  const { planning } = io.host
  const {
    policy,
    registry = './registry',
    recovers,
  } = args.values as {
    policy?: string
    registry?: string
    recovers?: string
  }
  return {
    ...(recovers === undefined ? {} : { recovers: await recoveredIn(recovers, io) }),
    ...(await readGiven(file, args, io)),
    policy:
      policy === undefined ? { schema_version: '1.0.0', mode: 'interactive' } : await planning.readDocument(policy),
    registry: await planning.readRegistry(registry),
  }
}

/** What the plan in a folder left behind, for the lineage of the one that takes its place. */
async function recoveredIn(folder: string, { host }: Io): Promise<Recovers> {
  const { files, strange } = await host.planning.readPlan(folder)
  const isSound = strange.length === 0 && verifyPlan(files, host).length === 0
  const tape = isSound ? runTape.safeParse(JSON.parse(files['run_tape.json'] ?? 'null')).data : undefined
  const recovers = tape === undefined ? null : recoveryOf({ run_id: tape.run_id, state: tape.state, tape }, host)
  if (recovers !== null) return recovers
  const problem = 'it is no plan that verifies; name the folder of the plan whose place the new one takes.'
  throw faults.file_unusable({ file: folder, problem })
}

/** Makes a plan from files, with the answers that are there. `times` are the instants of its moves. */
export async function planOffline(file: string, args: Arguments, io: Io) {
  const input = await readInput(file, args, io)
  const ports: Ports = { sha256: io.host.sha256, rules: await io.host.planning.rules() }
  const answers = args.values.answers as string | undefined
  const rounds = answers === undefined ? [] : asRounds(await io.host.planning.readDocument(answers))
  const { now } = io.host
  const times = [now()]
  const goOn = (from: Progress): Progress => {
    let at = from
    while (!isAtRest(at)) {
      const next = step(at, ports)
      if (next.entries.length > at.entries.length) times.push(now())
      at = next
    }
    return at
  }
  let progress = goOn(begin(input, ports))
  for (const [i, round] of rounds.entries()) {
    const { waits_for } = coordinationOf(progress, ports)
    if (waits_for === null) break
    progress = goOn(arrive(progress, [readRound(round, waits_for, ports.sha256)], ports))
    refuseUnfit(progress.ledger.refused, i + 1, answers ?? '')
  }
  return { input, ports, coordination: coordinationOf(progress, ports), times }
}

function refuseUnfit(refused: readonly Refused[], round: number, file: string) {
  const problems = refused.find(({ arrived }) => arrived === round - 1)?.problems
  if (problems === undefined) return
  const problem = `round ${round}: ${problems.map(({ message }) => message).join(' ')}`
  throw faults.file_unusable({ file, problem })
}

function asRounds(document: Json): readonly Json[] {
  return Array.isArray(document) ? document : [document]
}

function scopeOf(intent: Json): [project_id: string, repo_root: string] {
  const scope = (intent as { scope?: { project_id?: unknown; repo_root?: unknown } } | null)?.scope
  const text = (value: unknown, other: string) => (typeof value === 'string' && value !== '' ? value : other)
  return [text(scope?.project_id, 'unknown'), text(scope?.repo_root, '.')]
}
