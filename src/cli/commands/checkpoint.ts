import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { faults, fileRefused } from '../../faults/catalogue.ts'
import { checkpointLine, checkpointOf } from '../../runes/bundle.ts'
import type { Checkpoint } from '../../runes/checkpoint.ts'
import { signLog, signSession } from '../../surface/operations/runes.ts'
import type { ExistingStore } from '../../surface/wiring.ts'
import { command } from '../command.ts'
import { exits } from '../exits.ts'
import type { Io } from '../host.ts'
import { clientOptions, hereOrThereOptions, jsonOption, text } from '../options.ts'
import { busy, next } from '../print.ts'
import { hereOrThere, sessionIds, sessionNamed } from '../reach.ts'

/** The command `checkpoint`. */
export const checkpointCommand = command({
  usage: 'statewright checkpoint [session] [-o FILE] [--json]',
  summary: 'Sign where each log ends. Keep the lines where no writer of the store can change them.',
  takes: [0, 1],
  options: {
    ...hereOrThereOptions,
    ...jsonOption,
    output: text('add the lines to this file instead of printing them', 'o'),
  },
  async run(call) {
    const { io, print, words } = call
    const [given] = words
    const signed = await hereOrThere(call, {
      use: 'look',
      async here(store) {
        const ids = given === undefined ? await store.runelog.sessionIds() : [await sessionNamed(store, given)]
        return signAll(io, ids, signHere(io, store))
      },
      async there(client) {
        const sign: Signing = (session_id) => client.call(signSession, { params: { session_id }, body: {} })
        return signAll(io, await sessionIds(client, given), sign)
      },
    })
    const found = signed.filter((one) => one !== null)
    const lines = found.map(checkpointLine)
    const file = call.values.output
    // Each line is JSON already.
    if (file === undefined) for (const line of lines) io.out(line)
    else {
      await addLines(file, lines)
      const public_key = found[0]?.public_key ?? null
      print({ file, checkpoints: lines.length, public_key }, () => {
        const by = public_key === null ? '' : `, signed with the key ${public_key}`
        return [`${lines.length} ${lines.length === 1 ? 'checkpoint' : 'checkpoints'} added to ${file}${by}`]
      })
    }
    return found.length === signed.length ? exits.ok : exits.unproved
  },
})

type Signing = (session_id: string) => Promise<Pick<Awaited<ReturnType<typeof signLog>>, 'checkpoint' | 'first_bad'>>

function signHere({ host }: Io, { runelog, publicKey, signer }: ExistingStore): Signing {
  const { sha256, checkSignature: check, now } = host
  return (id) => signLog({ runelog, publicKey, signer, sha256, check, now }, id)
}

/** Signs each sound log; null stands for a log that does not verify. */
async function signAll({ err }: Io, ids: readonly string[], sign: Signing): Promise<(Checkpoint | null)[]> {
  const signed: (Checkpoint | null)[] = []
  for (const session_id of ids) {
    const { checkpoint, first_bad } = await sign(session_id)
    if (first_bad !== null) err(`${session_id} event ${first_bad.event_id}: ${first_bad.problem}`)
    signed.push(checkpoint)
  }
  return signed
}

/** A line of a checkpoint is shorter than this. */
const longestLine = 65_536

/** Adds all lines to a file, or none. A device or a pipe gets them directly. */
async function addLines(path: string, lines: readonly string[]): Promise<void> {
  const text = lines.map((line) => `${line}\n`).join('')
  try {
    await withFile(path, 'a', async (file) => {
      const before = await file.stat()
      if (!before.isFile()) return file.appendFile(text)
      if (before.size > 0) await refuseOther(path, before.size)
      await appendWhole(file, text, before.size)
    })
  } catch (error) {
    throw fileRefused(path, error)
  }
}

async function appendWhole(file: FileHandle, text: string, size: number): Promise<void> {
  try {
    await file.appendFile(text)
    await file.sync()
  } catch (error) {
    // If this fails too, the next command finds the torn line.
    await file.truncate(size).catch(() => {})
    throw error
  }
}

/** Refuses a file of other content, and one that ends in half a line: the next line would become part of it. */
async function refuseOther(path: string, size: number): Promise<void> {
  const [begins, end] = [Buffer.alloc(longestLine), Buffer.alloc(1)]
  await withFile(path, 'r', async (file) => {
    await file.read(begins, 0, longestLine, 0)
    await file.read(end, 0, 1, size - 1)
  })
  const [first = ''] = begins.toString().split('\n', 1)
  const isTorn = end.toString() !== '\n'
  if (!isTorn && checkpointOf(first) !== undefined) return
  const problem = isTorn
    ? 'its last line has no line end, so it may be half a line. Delete that line, or end it if it is whole; or name another file.'
    : 'its first line is no checkpoint. Name a new file, or one that this command wrote.'
  throw faults.file_unusable({ file: path, problem })
}

async function withFile<T>(path: string, flags: 'a' | 'r', work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, flags)
  try {
    return await work(file)
  } finally {
    await file.close()
  }
}

/** The command `export`. */
export const exportCommand = command({
  usage: 'statewright export SESSION -o FILE',
  summary: 'Write a session to a file that proves itself: every record, and a signed checkpoint.',
  takes: 1,
  options: { output: text('the file to write', 'o'), ...clientOptions },
  async run({ on, values: { output: path, json }, io, print, refuse }) {
    if (path === undefined) throw refuse('Name a file with -o FILE.')
    await on('look', ['session'], async (client, { session_id }) => {
      const lines = await client.bundle(session_id)
      const writing = writeBundle({ io, session_id, lines }, path)
      const { event_id, public_key } = await writing.catch((error) => {
        throw fileRefused(path, error)
      })
      print({ session_id, events: event_id, file: path, public_key }, () => [
        `${session_id}: ${event_id} events written to ${path}, signed with the key ${public_key}`,
      ])
    })
    next(io, { values: { json } }, `verify --bundle ${path}`)
  },
})

type Exported = { readonly io: Io; readonly session_id: string; readonly lines: AsyncIterable<string> }

/** Writes a draft, and renames it once its last line, the checkpoint, is there. A device or a pipe has no draft. */
async function writeBundle({ io, session_id, lines }: Exported, path: string): Promise<Checkpoint> {
  const isFile = (await stat(path).catch(() => undefined))?.isFile() ?? true
  const draft = isFile ? `${path}.part` : path
  const file = await open(draft, 'w', 0o600)
  let written = 0
  let last = ''
  const copy = async () => {
    for await (const line of lines) {
      await file.write(line)
      written += 1
      last = line
    }
    if (isFile) await file.sync()
  }
  try {
    await busy(io, () => `writing ${session_id}: ${written} lines`, copy)
  } catch (error) {
    if (isFile) await rm(draft, { force: true })
    throw error
  } finally {
    await file.close()
  }
  const { checkpoint } = JSON.parse(last) as { checkpoint?: Checkpoint }
  if (checkpoint === undefined) throw new Error(`The bundle of ${session_id} ended before its checkpoint.`)
  if (isFile) await rename(draft, path)
  return checkpoint
}
