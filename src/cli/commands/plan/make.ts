import { sealIntent } from '../../../coordinator/checksum.ts'
import { coordinationOf, recoveryOf } from '../../../coordinator/coordinate.ts'
import { arrive, begin, isAtRest, step } from '../../../coordinator/engine.ts'
import { freeze, journalOf, withJournal } from '../../../coordinator/outputs/freeze.ts'
import { verifyPlan } from '../../../coordinator/outputs/verify.ts'
import type { CoordinationInput, Ports, Progress } from '../../../coordinator/progress.ts'
import { readRound } from '../../../coordinator/questions/answers.ts'
import { defaultPolicy } from '../../../coordinator/schemas/context.ts'
import { type Recovers, runTape } from '../../../coordinator/schemas/record.ts'
import { faults } from '../../../faults/catalogue.ts'
import type { Json } from '../../../kernel/json.ts'
import { withoutUndefined } from '../../../runtime/options.ts'
import { submitPlan } from '../../../surface/operations/plans.ts'
import type { Call } from '../../command.ts'
import { exits } from '../../exits.ts'
import type { Io } from '../../host.ts'
import { resolveId } from '../../reach.ts'
import { planLines, questionLines, storyOf } from '../../render/plan.ts'
import { safeJson } from '../../render/text.ts'
import type { InputCall, makeOptions } from './options.ts'
import { planExit, reportPlan, withPlans } from './stored.ts'

type MakeCall = Call<typeof makeOptions>

/** Makes a plan: in a store if one is named, else from files to files. */
export async function makePlan(call: MakeCall): Promise<number> {
  const { store, server, timeout } = call.values
  if (store !== undefined || server !== undefined) return submit(call)
  if (timeout !== undefined) throw call.refuse('--timeout needs a store: without one, no process waits for answers.')
  return makeHere(call)
}

/** From files to files: only the folder keeps the plan. */
async function makeHere(call: MakeCall): Promise<number> {
  const { io } = call
  const { out: folder, key: keyFile, json } = call.values
  const { input, ports, coordination, times } = await planOffline(call)
  const { state, run_id, waits_for, artifacts } = coordination
  const key = keyFile === undefined ? undefined : await io.host.planning.readKey(keyFile)
  const files = waits_for === null ? freeze(coordination, input, ports, key?.signer) : null
  if (folder !== undefined && files !== null) await io.host.planning.writePlan(folder, withJournal(files, times))

  if (json) {
    const failure = artifacts.failure_pack ?? null
    const names = files === null ? [] : Object.keys(files).sort()
    const { entries } = journalOf(coordination.tape, times)
    const result = { state, run_id, question_pack: waits_for, failure, folder: folder ?? null, files: names }
    io.out(safeJson({ ...result, moves: entries }))
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

/** In a store, where the plan waits for its answers. */
async function submit(call: MakeCall): Promise<number> {
  const { answers, recovers: earlier } = call.values
  if (answers !== undefined)
    throw call.refuse('In a store, answer the plan once it asks: statewright plan answer ID NAME=VALUE.')
  const given = await readGiven(call)
  const seconds = call.count('timeout')
  return withPlans(call, { creates: true }, async (client) => {
    const body = withoutUndefined({
      ...given,
      answer_timeout_ms: seconds === undefined ? undefined : seconds * 1_000,
      recovers: earlier === undefined ? undefined : (await resolveId(client, earlier, 'plan')).id,
    })
    return reportPlan(client, await client.call(submitPlan, { body }), call)
  })
}

async function readGiven({ words: [file = ''], values, io }: InputCall) {
  const { planning, sha256 } = io.host
  const intent = sealIntent(await planning.readDocument(file), sha256)
  const { memory, facts } = values
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
      ? withoutUndefined(await planning.scan(where, project_id))
      : facts === undefined
        ? null
        : await planning.readDocument(facts),
  }
}

async function readInput(call: InputCall): Promise<CoordinationInput> {
  const { planning } = call.io.host
  const { policy, registry = './registry', recovers } = call.values
  return {
    ...(recovers === undefined ? {} : { recovers: await recoveredIn(recovers, call.io) }),
    ...(await readGiven(call)),
    policy: policy === undefined ? defaultPolicy : await planning.readDocument(policy),
    registry: await planning.readRegistry(registry),
  }
}

/** The lineage that the plan in a folder gives to the plan that takes its place. */
async function recoveredIn(folder: string, { host }: Io): Promise<Recovers> {
  const { files, strange } = await host.planning.readPlan(folder)
  const isSound = strange.length === 0 && verifyPlan(files, host).length === 0
  const tape = isSound ? runTape.safeParse(JSON.parse(files['run_tape.json'] ?? 'null')).data : undefined
  const recovers = tape === undefined ? null : recoveryOf({ run_id: tape.run_id, state: tape.state, tape }, host)
  if (recovers !== null) return recovers
  const problem = 'the folder has no plan that verifies. Name the folder of the plan to replace.'
  throw faults.file_unusable({ file: folder, problem })
}

/** Makes a plan from files, with the answers that are given. `times` are the instants of its moves. */
export async function planOffline(call: InputCall) {
  const { sha256, planning, now } = call.io.host
  const input = await readInput(call)
  const ports: Ports = { sha256, rules: await planning.rules() }
  const { answers } = call.values
  const rounds = answers === undefined ? [] : [await planning.readDocument(answers)].flat()
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
    const unfit = progress.ledger.refused.find(({ arrived }) => arrived === i)
    if (unfit === undefined) continue
    const problem = `round ${i + 1}: ${unfit.problems.map(({ message }) => message).join(' ')}`
    throw faults.file_unusable({ file: answers ?? '', problem })
  }
  return { input, ports, coordination: coordinationOf(progress, ports), times }
}

function scopeOf(intent: Json): [project_id: string, repo_root: string] {
  const scope = (intent as { scope?: { project_id?: unknown; repo_root?: unknown } } | null)?.scope
  const text = (value: unknown, other: string) => (typeof value === 'string' && value !== '' ? value : other)
  return [text(scope?.project_id, 'unknown'), text(scope?.repo_root, '.')]
}
