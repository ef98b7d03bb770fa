import type { z } from 'zod'
import { faults } from '../faults/catalogue.ts'
import type { Fault } from '../faults/fault.ts'
import { boundedJson, type Json, type JsonLimits, jsonLimits, mostProblems, pointerTo } from '../kernel/json.ts'
import type { CoordinationInput, Ports } from './progress.ts'
import { snapshotOf } from './registry.ts'
import { recovers } from './schemas/record.ts'
import { type RegistrySnapshot, registrySnapshot } from './schemas/registry.ts'
import { problemsOf } from './schemas/scalars.ts'

type Argument = { readonly of: string; readonly name: string }

type Members = Readonly<Record<string, 'function' | 'string'>>
type Issue = { readonly path: readonly PropertyKey[]; readonly message: string }

/** Copies an argument, read once and within limits. Throws `bad_request` with the place of each problem. */
export function readArgument<S extends z.ZodType>(
  at: Argument,
  value: unknown,
  shape: S,
  limits: JsonLimits = jsonLimits.plan,
): z.input<S> {
  const read = boundedJson(value, limits)
  if ('problem' in read) throw unfit(at, [{ path: [], message: read.problem }])
  const copy: unknown = read.value
  const { error } = shape.safeParse(copy)
  if (error !== undefined) throw unfit(at, error.issues)
  return copy as z.input<S>
}

/** Throws `bad_request` unless the members have these types. */
export function checkMembers(at: Argument, value: unknown, members: Members): void {
  const problems = Object.entries(members).flatMap(([member, type]) =>
    typeof memberOf(value, member) === type ? [] : [{ path: [member], message: `must be a ${type}` }],
  )
  if (problems.length > 0) throw unfit(at, problems)
}

/** Throws `bad_request` unless the value is a text in well-formed Unicode that is not empty. */
export function checkText(at: Argument, value: unknown): void {
  const isText = typeof value === 'string' && value !== '' && value.isWellFormed()
  if (!isText) throw unfit(at, [{ path: [], message: 'must be a text that is not empty, in well-formed Unicode' }])
}

/** Throws `bad_request` unless these are ports such as `planPorts()` of `statewright/plans` returns. */
export function checkPorts(of: string, ports: unknown): asserts ports is Ports {
  checkMembers({ of, name: 'ports' }, ports, { sha256: 'function' })
  const rules = memberOf(ports, 'rules')
  checkMembers({ of, name: 'ports.rules' }, rules, { version: 'string', check: 'function', judge: 'function' })
}

/** Copies the input of a plan, each part within limits. A part that does not fit is refused by its name. */
export function readInput(of: string, given: unknown, { sha256 }: Pick<Ports, 'sha256'>): CoordinationInput {
  const part = (name: string) => memberOf(given, name)
  const recovered = part('recovers')
  if (typeof given !== 'object' || given === null)
    throw unfit({ of, name: 'input' }, [{ path: [], message: 'must be an object with intent, policy and registry' }])
  return {
    intent: plainJson('intent', part('intent')),
    policy: plainJson('policy', part('policy')),
    memory: plainJson('memory pack', part('memory')),
    facts: plainJson('fact pack', part('facts')),
    registry: readSnapshot(part('registry'), sha256),
    ...(recovered === undefined ? {} : { recovers: readArgument({ of, name: 'recovers' }, recovered, recovers) }),
  }
}

/** Copies a part of the input as plain JSON, within limits. The Coordinator checks its shape later, on the record. */
export function plainJson(what: string, value: unknown): Json {
  const read = boundedJson(value, jsonLimits.plan)
  if ('problem' in read) throw faults.not_plain_json({ what, problem: read.problem })
  return read.value
}

/** Copies a snapshot from a caller. Throws `registry_refused` if its shape, or its id, does not fit its content. */
export function readSnapshot(given: unknown, sha256: Ports['sha256']): RegistrySnapshot {
  const refused = (problems: readonly { path?: string | undefined; message: string }[]) =>
    faults.registry_refused({ registry: 'the given snapshot', problems: problems.slice(0, mostProblems) })
  const read = boundedJson(given, jsonLimits.plan)
  if ('problem' in read) throw refused([{ message: read.problem }])
  const parsed = registrySnapshot.safeParse(read.value)
  if (!parsed.success) throw refused(problemsOf(parsed.error, 'schema'))
  const { snapshot_id } = snapshotOf(parsed.data.entries, sha256)
  if (snapshot_id === parsed.data.snapshot_id) return parsed.data
  const message = `its content has the id ${snapshot_id}, not ${parsed.data.snapshot_id}`
  throw refused([{ path: 'snapshot_id', message }])
}

/** Reads a member of any value. Undefined: there is none, or reading it throws. */
export function memberOf(value: unknown, name: string): unknown {
  try {
    return (value as Readonly<Record<string, unknown>> | null | undefined)?.[name]
  } catch {
    return undefined
  }
}

/** Reads each of these members once. Others are ignored. */
export function pick<T extends object, K extends keyof T & string>(value: T, names: readonly K[]): Partial<Pick<T, K>> {
  const members = names.map((name) => [name, memberOf(value, name)])
  return Object.fromEntries(members.filter(([, member]) => member !== undefined))
}

function unfit({ of, name }: Argument, problems: readonly Issue[]): Fault {
  const listed = problems.slice(0, mostProblems).map(({ path, message: problem }) => {
    return { in: name, pointer: pointerTo(path), problem }
  })
  return faults.bad_request({ operation: of, problems: listed })
}
