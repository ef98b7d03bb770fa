import { type Coordination, coordinate } from '../../../coordinator/coordinate.ts'
import type { AnswerRound, CoordinationInput, Ports } from '../../../coordinator/progress.ts'
import { readRound } from '../../../coordinator/questions/choose.ts'
import { sealIntent } from '../../../coordinator/seal.ts'
import { faults } from '../../../faults/catalogue.ts'
import type { Json } from '../../../kernel/json.ts'
import type { Arguments, Io } from '../../command.ts'

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
  const { policy, registry = './registry' } = args.values as { policy?: string; registry?: string }
  return {
    ...(await readGiven(file, args, io)),
    policy:
      policy === undefined ? { schema_version: '1.0.0', mode: 'interactive' } : await planning.readDocument(policy),
    registry: await planning.readRegistry(registry),
  }
}

/** Makes a plan from files, with the answers that are there. */
export async function planOffline(file: string, args: Arguments, io: Io) {
  const input = await readInput(file, args, io)
  const ports: Ports = { sha256: io.host.sha256, rules: await io.host.planning.rules() }
  const answers = args.values.answers as string | undefined
  const rounds = answers === undefined ? [] : asRounds(await io.host.planning.readDocument(answers))
  let coordination = coordinate(input, [], ports)
  const arrived: AnswerRound[] = []
  for (const round of rounds) {
    if (coordination.waits_for === null) break
    arrived.push(readRound(round, coordination.waits_for, ports.sha256))
    coordination = coordinate(input, arrived, ports)
    refuseUnfit(coordination, arrived.length, answers ?? '')
  }
  return { input, ports, coordination }
}

function refuseUnfit({ refused_answers }: Coordination, round: number, file: string) {
  const problems = refused_answers.find(({ arrived }) => arrived === round - 1)?.problems
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
