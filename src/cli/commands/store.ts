import { mayGo } from '../../runelog/segment.ts'
import { archiveSession, redactRune } from '../../surface/operations/session-commands.ts'
import { badUsage, hereOrThereOptions, jsonOption, storeOption, take, wholeNumber } from '../arguments.ts'
import { command } from '../command.ts'
import { exits } from '../exits.ts'
import { busy, next, print } from '../print.ts'
import { hereOrThere, resolveId, sessionNamed, withStore } from '../reach.ts'
import { strayLine } from '../render/stray.ts'
import { safeLine } from '../render/text.ts'

/** The command `backup`. */
export const backupCommand = command({
  name: 'backup',
  usage: 'statewright backup FOLDER',
  summary: 'Copy a SQLite store, with its key and its files, into a new folder; also while a server works on it.',
  options: { ...storeOption, ...jsonOption },

  async run(args, io) {
    const [folder = ''] = take(this, args, 1)
    const { store, json } = args.values
    const copied = await busy(
      io,
      () => 'copying',
      () => io.host.backUp(store, folder),
    )
    print(io, args, copied, () => [`Copied to ${copied.store}.`])
    if (copied.key_problem !== null) io.err(`The key of the store is not in the copy: ${safeLine(copied.key_problem)}`)
    next(io, { values: { json } }, `verify --store ${copied.store}`)
    return copied.key_problem === null ? exits.ok : exits.failed
  },
})

/** The command `clean`. */
export const cleanCommand = command({
  name: 'clean',
  usage: 'statewright clean [--delete]',
  summary: 'List files beside a SQLite store that it does not refer to. Nothing is removed without --delete.',
  options: {
    ...storeOption,
    delete: {
      type: 'boolean',
      summary: 'remove drafts and copies; a file that is the only copy of events always stays',
    },
    ...jsonOption,
  },

  async run(args, io) {
    take(this, args, 0)
    const isDeleting = args.values.delete === true
    return withStore(io, args, isDeleting ? 'change' : 'look', async ({ strays, discard }) => {
      const found = await strays()
      const deleted = isDeleting ? found.filter(mayGo) : []
      for (const stray of deleted) await discard(stray)
      const files = found.map((stray) => ({ ...stray, deleted: deleted.includes(stray) }))
      print(io, args, { files }, () =>
        files.length === 0
          ? ['The store refers to every file beside it.']
          : files.map((file) => strayLine(file, file.deleted)),
      )
      if (!isDeleting && found.some(mayGo)) next(io, args, 'clean --delete')
      return exits.ok
    })
  },
})

/** The command `rebuild`. */
export const rebuildCommand = command({
  name: 'rebuild',
  usage: 'statewright rebuild',
  summary: 'Drop every read model and fold it again from the runes.',
  options: { ...storeOption, ...jsonOption },

  async run(args, io) {
    take(this, args, 0)
    return withStore(io, args, 'change', async ({ runelog }) => {
      const runes = await busy(
        io,
        () => 'folding every rune again',
        () => runelog.rebuild(),
      )
      print(io, args, { runes }, () => [`${runes} runes folded.`])
      return exits.ok
    })
  },
})

/** The command `archive`. */
export const archiveCommand = command({
  name: 'archive',
  usage: 'statewright archive SESSION',
  summary: 'Move the log of a closed session to a compressed file beside the store. It stays readable and verifiable.',
  options: { ...hereOrThereOptions, ...jsonOption },

  async run(args, io) {
    const [given = ''] = take(this, args, 1)
    const archiving = async (session_id: string, work: () => Promise<unknown>) => {
      await busy(io, () => `archiving ${session_id}`, work)
      return session_id
    }
    const session_id = await hereOrThere(io, args, {
      use: 'change',
      here: async (store) => {
        const id = await sessionNamed(store, given)
        return archiving(id, () => store.runelog.archive(id))
      },
      there: async (client) => {
        const { id } = await resolveId(client, given, 'session')
        return archiving(id, () => client.call(archiveSession, { params: { session_id: id }, body: {} }))
      },
    })
    print(io, args, { session_id, state: 'archived' }, () => [`${session_id} is archived.`])
    return exits.ok
  },
})

/** The command `redact`. */
export const redactCommand = command({
  name: 'redact',
  usage: 'statewright redact SESSION EVENT_ID --reason TEXT',
  summary: 'Erase the content of one event for good. That it was erased, and why, is recorded; the log still verifies.',
  options: { ...hereOrThereOptions, ...jsonOption, reason: { type: 'string', summary: 'why; it is recorded' } },

  async run(args, io) {
    const [given = '', event = ''] = take(this, args, 2)
    const { reason = '' } = args.values
    const event_id = wholeNumber(this, 'EVENT_ID', event, [1, Number.MAX_SAFE_INTEGER])
    if (reason === '') throw badUsage(this, 'A redaction needs a reason.')
    const session_id = await hereOrThere(io, args, {
      use: 'change',
      here: async (store) => {
        const id = await sessionNamed(store, given)
        await store.runelog.redact(id, event_id, reason)
        return id
      },
      there: async (client) => {
        const { id } = await resolveId(client, given, 'session')
        await client.call(redactRune, { params: { session_id: id, event_id }, body: { reason } })
        return id
      },
    })
    print(io, args, { session_id, event_id, reason }, () => [`${session_id} event ${event_id}: its content is erased.`])
    return exits.ok
  },
})
