import { open, rename, rm, stat } from 'node:fs/promises'
import { fileRefused } from '../../faults/catalogue.ts'
import type { Checkpoint } from '../../runes/checkpoint.ts'
import type { Bundle } from '../../surface/wiring.ts'
import { command } from '../command.ts'
import type { Io } from '../host.ts'
import { clientOptions } from '../options.ts'
import { busy, next } from '../print.ts'
import { resolveId, sessionNamed, whereOf } from '../reach.ts'

/** The command `export`. */
export const exportCommand = command({
  name: 'export',
  usage: 'statewright export SESSION -o FILE',
  summary: 'Write a session to a file that proves itself: every record, and a signed checkpoint.',
  takes: 1,
  options: { output: { type: 'string', short: 'o', summary: 'the file to write' }, ...clientOptions },
  async run({ words: [given = ''], values, io, print, refuse }) {
    const path = values.output
    if (path === undefined) throw refuse('Say where to, with -o FILE.')
    const bundle = await io.host.openBundle(whereOf(values), {
      inStore: (store) => sessionNamed(store, given),
      onServer: async (client) => (await resolveId(client, given, 'session')).session_id,
    })
    try {
      const { event_id, public_key } = await write(bundle, path, io).catch((error) => {
        throw fileRefused(path, error)
      })
      const { session_id } = bundle
      print({ session_id, events: event_id, file: path, public_key }, () => [
        `${session_id}: ${event_id} events written to ${path}, signed with the key ${public_key}`,
      ])
    } finally {
      await bundle.close()
    }
    next(io, { values: { json: values.json } }, `verify --bundle ${path}`)
  },
})

/**
 * Writes a draft, and renames it when its last line, the checkpoint, is written. A device or a pipe is written directly:
 * renaming would put a file in its place.
 */
async function write({ lines, session_id }: Bundle, path: string, io: Io): Promise<Checkpoint> {
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
