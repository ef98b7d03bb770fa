import { open } from 'node:fs/promises'
import { faults } from '../../faults/catalogue.ts'
import type { Runelog } from '../../runelog/port.ts'
import { createBundleVerifier } from '../../runes/bundle.ts'
import { type Checkpoint, checkpointProblem } from '../../runes/checkpoint.ts'
import { type BadEvent, createVerifier, type Mark } from '../../runes/verify.ts'
import type { Arguments, Command, Io } from '../command.ts'
import { exits } from '../exits.ts'
import { storeOption, take, withStore } from '../with-store.ts'

export const verifyCommand: Command = {
  name: 'verify',
  usage: 'statewright verify [session] [--checkpoints FILE] [--bundle FILE] [--key PUBLIC_KEY]',
  summary: 'Prove that no event was changed, removed, added or moved; name the first bad one and exit 5.',
  options: {
    ...storeOption,
    bundle: { type: 'string', summary: 'verify this exported file; no store is needed' },
    checkpoints: { type: 'string', summary: 'compare with checkpoints that were kept elsewhere, one per line' },
    key: { type: 'string', summary: 'accept only signatures of this key' },
  },

  async run(args, io) {
    const [session_id] = take(this, args, 0, 1)
    if (args.values.bundle !== undefined) {
      if (session_id !== undefined || args.values.checkpoints !== undefined || args.values.store !== undefined)
        throw faults.bad_usage({ problem: 'A bundle is verified by itself.', usage: this.usage })
      return verifyBundle(args.values.bundle as string, args, io)
    }
    const marks = await readMarks(args, io)
    return withStore(io.host, args, async ({ runelog }) => {
      const known = await runelog.sessionIds()
      const asked = session_id === undefined ? [...new Set([...known, ...marks.keys()])] : [session_id]
      if (session_id !== undefined && !known.includes(session_id) && !marks.has(session_id))
        throw faults.not_found({ what: 'session', id: session_id })
      let is_sound = true
      for (const id of asked) is_sound = (await verifySession(runelog, id, marks.get(id) ?? [], io)) && is_sound
      if (is_sound) io.out(`${asked.length} ${asked.length === 1 ? 'session' : 'sessions'} verified.`)
      return is_sound ? exits.ok : exits.unproved
    })
  },
}

async function verifySession(runelog: Runelog, session_id: string, marks: readonly Mark[], io: Io): Promise<boolean> {
  const verifier = createVerifier(session_id, io.host.sha256, marks)
  const bad = await firstBad()
  if (bad !== undefined) {
    io.err(`${session_id} event ${bad.event_id}: ${bad.problem}`)
    return false
  }
  const { event_id, hash } = verifier.head()
  io.out(`${session_id}: ${event_id} events, ${marks.length} checkpoints, head ${hash}`)
  return true

  async function firstBad(): Promise<BadEvent | undefined> {
    try {
      for await (const record of runelog.records(session_id)) {
        const found = verifier.take(record)
        if (found !== undefined) return found
      }
    } catch (error) {
      // Bytes that cannot even be read are a finding, not a failure of the command.
      return { event_id: verifier.head().event_id + 1, problem: `it cannot be read (${(error as Error).message}).` }
    }
    return verifier.end()
  }
}

async function verifyBundle(path: string, { values }: Arguments, { host, out, err }: Io): Promise<number> {
  const trusted = values.key as string | undefined
  const verifier = createBundleVerifier({ sha256: host.sha256, check: host.checkSignature, trusted })
  for await (const line of lines(path)) verifier.take(line)
  const { session_id, events, checkpoint, bad } = verifier.end()
  if (bad !== undefined) {
    err(`${session_id ?? path} event ${bad.event_id}: ${bad.problem}`)
    return exits.unproved
  }
  out(`${session_id}: ${events} events, signed with the key ${checkpoint?.public_key}`)
  return exits.ok
}

async function readMarks({ values }: Arguments, { host }: Io): Promise<ReadonlyMap<string, readonly Checkpoint[]>> {
  if (values.checkpoints === undefined) return new Map()
  const path = values.checkpoints as string
  const all: Checkpoint[] = []
  for await (const line of lines(path)) {
    const refuse = (problem: string) =>
      faults.file_unusable({ file: path, problem: `Line ${all.length + 1}: ${problem}` })
    const { checkpoint } = parse(line) as { checkpoint?: Checkpoint }
    if (checkpoint === undefined) throw refuse('It is not a checkpoint.')
    const problem = checkpointProblem(checkpoint, host.checkSignature, values.key as string | undefined)
    if (problem !== undefined) throw refuse(problem)
    all.push(checkpoint)
  }
  return Map.groupBy(all, (checkpoint) => checkpoint.session_id)
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line) ?? {}
  } catch {
    return {}
  }
}

async function* lines(path: string): AsyncGenerator<string, void, void> {
  const file = await open(path).catch((error: Error) => {
    throw faults.file_unusable({ file: path, problem: error.message })
  })
  yield* file.readLines()
}
