import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, expect, test } from 'vitest'
import type { Json } from '../../../src/kernel/json.ts'
import { firstEventOf } from '../../../src/runes/record.ts'
import type { Rune } from '../../../src/runes/rune.ts'
import { createBackendWorld, refund, supportAgent } from '../../support/backend.ts'
import { createProject, type Project } from '../../support/cli-project.ts'
import { putRecord, recordsIn, relinked, withEntry } from '../../support/records.ts'
import { runCli } from '../../support/run-cli.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { startServer } from '../../support/server.ts'

const scratch = scratchFolder('guards')
let project: Project
let session_id: string
let guarded: Rune

/** A session whose run waits for an approval. Its first turn began because there was input. */
beforeEach(async () => {
  project = createProject(scratch.fresh())
  await project.cli(['run', 'refund 7'])
  session_id = JSON.parse((await project.cli(['ps', '--json'])).out).items[0].session_id
  const events = (await project.cli(['show', session_id, '--events', '--json'])).out.split('\n')
  guarded = events.map((line) => JSON.parse(line) as Rune).find(({ kind }) => kind === 'turn.started') as Rune
})

const why =
  /^ {2}why was this allowed\? input holds: It is the first turn of its run and begins with what was submitted\.$/m

test('replay: each step says why its move was allowed', async () => {
  const at = (event_id: number) => project.cli(['replay', session_id, '--at', String(event_id)])
  expect((await at(guarded.event_id)).out).toMatch(why)
  expect((await at(1)).out).not.toContain('why was this allowed?')
})

test('show: events and the story say why a move was allowed', async () => {
  const events = (await project.cli(['show', session_id, '--events'])).out.split('\n')
  const started = events.findIndex((line) => line.includes('turn.started  '))
  expect(events[started + 1]).toMatch(why)
  const { out } = await project.cli(['show', session_id])
  expect(out).toMatch(/The run waits for a person\.\n {4}why was this allowed\? mode_is_interactive holds: /)
})

test('verify: a reading that is false is named, although all hashes fit', async () => {
  const verify = () => runCli(['verify', session_id, '--store', project.store])
  expect(await verify()).toMatchObject({ exit: 0 })
  falsify(project.store.slice('sqlite:'.length), guarded.event_id)
  expect(await verify()).toMatchObject({
    exit: 5,
    err: `${session_id} event ${guarded.event_id}: its guard input did not hold: There is nothing to answer.`,
  })
})

test.each([null, 'x', [], [null], [{}], {}])(
  'replay, show: readings that are %j are damage of their event, as verify says',
  async (guards) => {
    rewrite(project.store.slice('sqlite:'.length), guarded.event_id, guards)
    const id = guarded.event_id
    for (const words of [
      ['replay', session_id, '--at', String(id)],
      ['show', session_id, '--events'],
    ])
      expect(await project.cli(words)).toMatchObject({
        exit: 5,
        err: expect.stringContaining(`The store is damaged. ${session_id} event ${id}: its readings of guards`),
      })
    expect(await runCli(['verify', session_id, '--store', project.store])).toMatchObject({ exit: 5 })
  },
)

test('audit over HTTP: a reading that is false is named, although all hashes fit', async () => {
  const path = join(scratch.fresh(), 'world.db')
  const { world, backend } = await createBackendWorld(
    { support: supportAgent([refund]) },
    { store: `sqlite:${path}`, isDamaged: true },
  )
  const { ask, close } = await startServer(backend)
  const { session_id: id } = (await ask('/api/runs', { body: { agent: 'support', input: 'Refund order 42.' } })).json
  await world.sw.idle()
  const { event_id } = (await world.runes(id)).find(({ kind }) => kind === 'turn.started') as Rune
  expect((await ask(`/api/sessions/${id}/audit`)).json).toMatchObject({ is_sound: true, first_bad: null })
  falsify(path, event_id)
  expect((await ask(`/api/sessions/${id}/audit`)).json).toMatchObject({
    is_sound: false,
    first_bad: { event_id, problem: 'its guard input did not hold: There is nothing to answer.' },
  })
  await close()
  await world.end()
})

const falsify = (path: string, event_id: number) =>
  rewrite(path, event_id, [{ guard: 'input', holds: false, because: 'There is nothing to answer.' }])

/** Rewrites the readings of one event of the only session as an attacker would who has the file: every later hash fits. */
function rewrite(path: string, event_id: number, guards: Json): void {
  const db = new DatabaseSync(path)
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all()
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
  const records = recordsIn(db, 1).map((record) => {
    const place = event_id - firstEventOf(record)
    const isIt = place >= 0 && event_id <= record.event_id
    return isIt ? { ...record, header: withEntry(record.header, place, { guards }) } : record
  })
  for (const record of relinked(records)) putRecord(db, record)
  for (const { sql } of triggers) db.exec(String(sql))
  db.close()
}
