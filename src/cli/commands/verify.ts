import { open } from 'node:fs/promises'
import { faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { type Damage, unreadable } from '../../runelog/damage.ts'
import type { Stray } from '../../runelog/segment.ts'
import { createBundleVerifier } from '../../runes/bundle.ts'
import { type Checkpoint, checkpointProblem, readCheckpoint } from '../../runes/checkpoint.ts'
import type { Mark } from '../../runes/record.ts'
import { type BadEvent, createVerifier, type LogFormat, type Redacted, type VerifierPorts } from '../../runes/verify.ts'
import type { Client } from '../../surface/client.ts'
import { auditSession } from '../../surface/operations/audit.ts'
import type { ExistingStore } from '../../surface/wiring.ts'
import { badUsage, jsonOption, storeOption, take } from '../arguments.ts'
import { type Arguments, command, type Options } from '../command.ts'
import { exits } from '../exits.ts'
import type { Io } from '../host.ts'
import { busy } from '../print.ts'
import { everySession, isHeld, resolveId, sessionNamed, withClient, withStore } from '../reach.ts'
import { strayLine } from '../render/stray.ts'
import { safeJson } from '../render/text.ts'

const options = {
  ...storeOption,
  server: { type: 'string', summary: 'let this server verify its store' },
  bundle: { type: 'string', summary: 'verify this exported file; no store is needed' },
  checkpoints: { type: 'string', summary: 'compare with checkpoints that were kept elsewhere, one per line' },
  key: { type: 'string', summary: 'accept only signatures of this key, or of these, separated by commas' },
  ...jsonOption,
} as const satisfies Options

/** The command `verify`. */
export const verifyCommand = command({
  name: 'verify',
  usage: 'statewright verify [session] [--checkpoints FILE] [--bundle FILE] [--key PUBLIC_KEY] [--server URL]',
  summary: 'Prove that no event was changed, removed, added or moved; name the first bad one and exit 5.',
  options,

  async run(args, io) {
    const [given] = take(this, args, 0, 1)
    const { bundle, checkpoints, store, server } = args.values
    keysOf(args)
    if (bundle !== undefined) {
      if (given !== undefined || checkpoints !== undefined || store !== undefined || server !== undefined)
        throw badUsage(this, 'A bundle is verified by itself.')
      return report([await verifyBundle(bundle, args, io)], args, io)
    }
    const marks = await readMarks(args, io)
    if (server !== undefined) {
      if (marks.size > 0) throw badUsage(this, 'Checkpoints are compared where the store is, or with a bundle.')
      return report(await withClient(io, args, 'look', (client) => verifyThere(client, given)), args, io)
    }
    const here = () =>
      withStore(io, args, 'look', async (store) => {
        const { runelog } = store
        const session_id = given === undefined || marks.has(given) ? given : await sessionNamed(store, given)
        const known = await runelog.sessionIds()
        const asked = session_id === undefined ? [...new Set([...known, ...marks.keys()])] : [session_id]
        if (session_id !== undefined && !known.includes(session_id) && !marks.has(session_id))
          throw faults.not_found({ what: 'session', id: session_id })
        const verdicts: Verdict[] = []
        let events = 0
        const ports = { sha256: io.host.sha256, check: io.host.checkSignature, trusted: keysOf(args) ?? ownKey(store) }
        const doing = () => `verifying: ${verdicts.length} of ${asked.length} sessions, ${events} events`
        await busy(io, doing, async () => {
          for (const id of asked)
            verdicts.push(
              await verifySession(store, id, {
                marks: marks.get(id) ?? [],
                ports,
                seen: () => {
                  events += 1
                },
              }),
            )
        })
        // For one session the log is enough. For the whole store, everything beside the log is checked too.
        const isWhole = session_id === undefined
        const damages = isWhole ? await Array.fromAsync(store.damages()) : []
        return report(verdicts, args, io, {
          damages: [...keyDamage(store, marks, args), ...damages],
          strays: isWhole ? await store.strays() : [],
        })
      })
    try {
      return await here()
    } catch (error) {
      // A server that holds the store verifies it, but cannot compare checkpoints that were kept elsewhere.
      if (!isHeld(error) || marks.size > 0) throw error
      return report(await withClient(io, args, 'look', (client) => verifyThere(client, given)), args, io)
    }
  },
})

interface Verdict {
  readonly session_id: string
  readonly events: number
  readonly head: string | null
  readonly checkpoints: number
  readonly public_key: string | null
  readonly first_bad: BadEvent | null
  readonly redactions: readonly Redacted[]
  /** 1: a bundle that 0.1 exported. */
  readonly format: LogFormat
}

const nothingElse = { damages: [], strays: [] }

type VerifyArguments = Arguments<typeof options>

function report(
  verdicts: readonly Verdict[],
  { values }: VerifyArguments,
  { out, err }: Io,
  { damages, strays }: { readonly damages: readonly Damage[]; readonly strays: readonly Stray[] } = nothingElse,
): number {
  const bad = verdicts.filter(({ first_bad }) => first_bad !== null)
  const is_sound = bad.length + damages.length === 0
  const exit = is_sound ? exits.ok : exits.unproved
  if (values.json) {
    out(safeJson({ is_sound, sessions: verdicts, damages, unknown_files: strays }, 2))
    return exit
  }
  for (const { session_id, events, head, checkpoints, public_key, first_bad, redactions, format } of verdicts) {
    if (first_bad !== null) err(`${session_id} event ${first_bad.event_id}: ${first_bad.problem}`)
    else if (public_key !== null) out(`${session_id}: ${events} events, signed with the key ${public_key}`)
    else out(`${session_id}: ${events} events, ${checkpoints} checkpoints, head ${head}`)
    for (const one of redactions) out(redactionLine(session_id, one))
    if (format === 1)
      out(
        `${session_id}: exported by 0.1, which signed neither redactions nor the list of machines. They prove nothing.`,
      )
  }
  for (const { what, problem } of damages) err(`${what}: ${problem}`)
  for (const stray of strays) err(strayLine(stray))
  if (is_sound && values.bundle === undefined)
    out(`${verdicts.length} ${verdicts.length === 1 ? 'session' : 'sessions'} verified.`)
  return exit
}

function redactionLine(session_id: string, { event_id, redacted_by, reason, is_after_mark, recorded_at }: Redacted) {
  const after = is_after_mark ? ', after a checkpoint that covers it' : ''
  return `${session_id} event ${event_id}: redacted by ${redacted_by ?? 'unknown'} in event ${recorded_at}${after} (${reason})`
}

interface Verifying {
  readonly marks: readonly Mark[]
  readonly ports: VerifierPorts
  /** Called after each event. */
  readonly seen: () => void
}

async function verifySession(
  { runelog }: ExistingStore,
  session_id: string,
  { marks, ports, seen }: Verifying,
): Promise<Verdict> {
  const verifier = createVerifier(session_id, ports, marks)
  const first_bad = (await firstBad()) ?? null
  const { event_id: events, hash: head } = verifier.head()
  const redactions = verifier.redactions()
  return { session_id, events, head, checkpoints: marks.length, public_key: null, first_bad, redactions, format: 2 }

  async function firstBad(): Promise<BadEvent | undefined> {
    try {
      for await (const record of runelog.records(session_id)) {
        const found = verifier.take(record)
        if (found !== undefined) return found
        seen()
      }
    } catch (error) {
      // Bytes that cannot even be read are a finding, not a failure of the command.
      return { event_id: verifier.head().event_id + 1, problem: unreadable(error) }
    }
    return verifier.end()
  }
}

/** The server verifies its own store. If you do not trust it, export and verify the bundle. */
async function verifyThere(client: Client, given: string | undefined): Promise<readonly Verdict[]> {
  const asked =
    given === undefined ? await everySession(client) : [(await resolveId(client, given, 'session')).session_id]
  const verdicts: Verdict[] = []
  for (const session_id of asked) {
    const { events, head, first_bad, redactions } = await client.call(auditSession, { params: { session_id } })
    verdicts.push({ session_id, events, head, checkpoints: 0, public_key: null, first_bad, redactions, format: 2 })
  }
  return verdicts
}

async function verifyBundle(path: string, args: VerifyArguments, { host }: Io): Promise<Verdict> {
  const trusted = keysOf(args)
  const verifier = createBundleVerifier({ sha256: host.sha256, check: host.checkSignature, trusted })
  for await (const line of lines(path)) verifier.take(line)
  const { session_id, events, checkpoint, bad, redactions, format } = verifier.end()
  return {
    session_id: session_id ?? path,
    events,
    head: checkpoint?.hash ?? null,
    checkpoints: checkpoint === undefined ? 0 : 1,
    public_key: checkpoint?.public_key ?? '',
    first_bad: bad ?? null,
    redactions,
    format,
  }
}

async function readMarks(args: VerifyArguments, { host }: Io): Promise<ReadonlyMap<string, readonly Checkpoint[]>> {
  const { checkpoints: path } = args.values
  if (path === undefined) return new Map()
  const all: Checkpoint[] = []
  for await (const line of lines(path)) {
    const refuse = (problem: string) =>
      faults.file_unusable({ file: path, problem: `Line ${all.length + 1}: ${problem}` })
    const checkpoint = readCheckpoint((parse(line) as { checkpoint?: unknown }).checkpoint)
    if (checkpoint === undefined) throw refuse('It is not a checkpoint.')
    const problem = checkpointProblem(checkpoint, host.checkSignature, keysOf(args))
    if (problem !== undefined) throw refuse(problem)
    all.push(checkpoint)
  }
  if (all.length === 0)
    throw badUsage(
      verifyCommand,
      `${path} holds no checkpoint, so nothing was compared. Name a file that "statewright checkpoint" wrote.`,
    )
  return Map.groupBy(all, (checkpoint) => checkpoint.session_id)
}

function keysOf({ values }: VerifyArguments): readonly string[] | undefined {
  const keys = values.key?.toLowerCase().split(',')
  const bad = keys?.find((key) => !/^[0-9a-f]{64}$/.test(key))
  if (bad !== undefined) throw badUsage(verifyCommand, `--key takes keys of 64 hex digits, not ${JSON.stringify(bad)}.`)
  return keys
}

/** Damage if another key than the store's signed a checkpoint: one of the two was replaced. */
function keyDamage(
  store: ExistingStore,
  marks: ReadonlyMap<string, readonly Checkpoint[]>,
  args: VerifyArguments,
): Damage[] {
  const trusted = keysOf(args) ?? ownKey(store)
  const strange = [...marks.values()].flat().find(({ public_key }) => !trusted.includes(public_key))
  if (strange === undefined) return []
  const problem = `it is ${trusted.join(', ') || 'missing or damaged'}, and ${strange.public_key} signed a checkpoint. If you replaced it, name both with --key.`
  return [{ what: 'key of the store', problem }]
}

/** The key whose redactions count. An unreadable key file counts as no key. */
function ownKey({ publicKey }: ExistingStore): readonly string[] {
  try {
    const key = publicKey()
    return key === undefined ? [] : [key]
  } catch (error) {
    if (error instanceof Fault) return []
    throw error
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line) ?? {}
  } catch {
    return {}
  }
}

async function* parts(path: string): AsyncGenerator<string, void, void> {
  try {
    const file = await open(path)
    for await (const part of file.createReadStream({ encoding: 'utf8' })) yield part as string
  } catch (error) {
    throw faults.file_unusable({ file: path, problem: (error as Error).message })
  }
}

/** The limit of a line. A longer one is cut, and then is not JSON. */
const longestLine = 2 ** 27

/** Lines end with a line feed only, so that no other byte can stand for one. */
async function* lines(path: string): AsyncGenerator<string, void, void> {
  let rest = ''
  for await (const part of parts(path)) {
    const [first = '', ...more] = part.split('\n')
    rest += first
    for (const line of more) {
      yield rest
      rest = line
    }
    if (rest.length > longestLine) break
  }
  if (rest !== '') yield rest
}
