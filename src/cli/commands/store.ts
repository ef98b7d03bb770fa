import type { Runelog } from '../../runelog/port.ts'
import { mayGo } from '../../runelog/segment.ts'
import type { Client } from '../../surface/client.ts'
import { archiveSession, redactRune } from '../../surface/operations/sessions.ts'
import { type Call, type Command, command } from '../command.ts'
import { exits } from '../exits.ts'
import { flag, hereOrThereOptions, jsonOption, storeOption, text } from '../options.ts'
import { busy, next } from '../print.ts'
import { hereOrThere, resolveId, sessionNamed, withStore } from '../reach.ts'
import { strayLine } from '../render/story.ts'
import { safeLine } from '../render/text.ts'

const backup = command({
  usage: 'statewright backup FOLDER',
  summary: 'Copy a SQLite store, with its key and its files, into a new folder; also while a server works on it.',
  takes: 1,
  options: { ...storeOption, ...jsonOption },
  async run({ words: [folder = ''], values: { store, json }, io, print }) {
    const copied = await busy(io, 'copying', () => io.host.backUp(store, folder))
    print(copied, () => [`Copied to ${copied.store}.`])
    if (copied.key_problem !== null) io.err(`The key of the store is not in the copy: ${safeLine(copied.key_problem)}`)
    next(io, { values: { json } }, `verify --store ${copied.store}`)
    return copied.key_problem === null ? exits.ok : exits.failed
  },
})

const clean = command({
  usage: 'statewright clean [--delete]',
  summary: 'List files beside a SQLite store that it does not refer to. Nothing is removed without --delete.',
  options: {
    ...storeOption,
    delete: flag('remove drafts and copies; a file that is the only copy of events always stays'),
    ...jsonOption,
  },
  run: (call) => {
    const isDeleting = call.values.delete === true
    return withStore(call, isDeleting ? 'change' : 'look', async ({ strays, discard }) => {
      const found = (await strays?.()) ?? []
      const deleted = isDeleting ? found.filter(mayGo) : []
      for (const stray of deleted) await discard(stray)
      const files = found.map((stray) => ({ ...stray, deleted: deleted.includes(stray) }))
      const nothing = [
        strays === null
          ? 'The files of a PostgreSQL store are not listed. A redaction or an archiving removes drafts of its session.'
          : 'The store refers to every file beside it.',
      ]
      call.print({ files }, () => (files.length === 0 ? nothing : files.map((file) => strayLine(file, file.deleted))))
      if (!isDeleting && found.some(mayGo)) call.next('clean --delete')
    })
  },
})

const rebuild = command({
  usage: 'statewright rebuild',
  summary: 'Drop every read model and fold it again from the runes.',
  options: { ...storeOption, ...jsonOption },
  run: (call) =>
    withStore(call, 'change', async ({ runelog }) => {
      const runes = await busy(call.io, 'folding every rune again', () => runelog.rebuild())
      call.print({ runes }, () => [`${runes} runes folded.`])
    }),
})

interface Ways {
  readonly here: (runelog: Runelog, session_id: string) => Promise<unknown>
  readonly there: (client: Client, session_id: string) => Promise<unknown>
}

/** Changes the session that the first word names: on the store, or through the server that holds it. Resolves with its id. */
function onSession(call: Call<typeof hereOrThereOptions>, { here, there }: Ways): Promise<string> {
  const [given = ''] = call.words
  return hereOrThere(call, {
    use: 'change',
    async here(store) {
      const id = await sessionNamed(store, given)
      await here(store.runelog, id)
      return id
    },
    async there(client) {
      const { id } = await resolveId(client, given, 'session')
      await there(client, id)
      return id
    },
  })
}

const archive = command({
  usage: 'statewright archive SESSION',
  summary: 'Move the log of a closed session to a compressed file beside the store. It stays readable and verifiable.',
  takes: 1,
  options: { ...hereOrThereOptions, ...jsonOption },
  async run(call) {
    const session_id = await onSession(call, {
      here: ({ archive }, id) => busy(call.io, `archiving ${id}`, () => archive(id)),
      there: (client, id) =>
        busy(call.io, `archiving ${id}`, () => client.call(archiveSession, { params: { session_id: id }, body: {} })),
    })
    call.print({ session_id, state: 'archived' }, () => [`${session_id} is archived.`])
  },
})

const redact = command({
  usage: 'statewright redact SESSION EVENT_ID --reason TEXT',
  summary: 'Erase the content of one event for good. The reason is recorded. The log still verifies.',
  takes: 2,
  options: { ...hereOrThereOptions, ...jsonOption, reason: text('the reason, which is recorded') },
  async run(call) {
    const [, event = ''] = call.words
    const { reason = '' } = call.values
    const event_id = call.wholeNumber('EVENT_ID', event, [1, Number.MAX_SAFE_INTEGER])
    if (reason === '') throw call.refuse('A redaction needs a reason.')
    const session_id = await onSession(call, {
      here: ({ redact }, id) => redact(id, event_id, reason),
      there: (client, id) => client.call(redactRune, { params: { session_id: id, event_id }, body: { reason } }),
    })
    call.print({ session_id, event_id, reason }, () => [`${session_id} event ${event_id}: its content is erased.`])
  },
})

/** Commands for the keeper of a store. */
export const storeCommands: readonly Command[] = [backup, redact, archive, clean, rebuild]
