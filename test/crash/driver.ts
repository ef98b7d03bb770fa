import type { Statewright } from '../../src/app/statewright.ts'
import type { Json } from '../../src/kernel/json.ts'
import { subjects } from '../../src/runelog/models.ts'
import type { Rune } from '../../src/runes/rune.ts'
import type { OpenInteraction } from '../../src/runtime/models/open-work.ts'
import { answerTo, type Note, type Outside } from './outside.ts'
import type { Role } from './plays.ts'

export interface Stage {
  readonly sw: Statewright
  readonly outside: Outside
  /** Resolves when nothing goes on by itself, or when something lingers until it is told to stop. */
  quiet(): Promise<void>
  /** Lets deadlines pass. */
  letTimePass(): Promise<void>
}

type Submitted = Extract<Note, { told: 'submitted' }>

/** So often in a row there may be nothing to do without everything being done. */
const patience = 12

/**
 * The client of every run. It knows what stands in its notebook and what it
 * can read, drives everything to its end by fixed rules, and never asks again
 * for what was acknowledged. It is the same in the first life and in any later one.
 */
export async function drive(stage: Stage, roles: readonly Role[]): Promise<void> {
  for (let left = patience; left > 0; left--) {
    while (await round(stage, roles)) {
      left = patience
      await stage.quiet()
    }
    if (await isDone(stage, roles)) return
    await stage.letTimePass()
    await stage.quiet()
  }
  throw new Error(`It does not settle: ${JSON.stringify(await stage.sw.inbox.list())}`)
}

async function round(stage: Stage, roles: readonly Role[]): Promise<boolean> {
  const submitted = await submitMissing(stage, roles)
  await stage.quiet()
  const stopped = await stopSome(stage, roles)
  await stage.quiet()
  const read = await readResults(stage)
  const replied = await answerInbox(stage, roles)
  return submitted || stopped || read || replied
}

async function isDone({ sw, outside }: Stage, roles: readonly Role[]): Promise<boolean> {
  const notes = await outside.notes()
  const results = notes.filter((n) => n.told === 'result')
  return results.length === roles.length && (await sw.inbox.list()).length === 0
}

async function submitMissing({ sw, outside }: Stage, roles: readonly Role[]): Promise<boolean> {
  let acted = false
  for (const role of roles) {
    const known = submissions(await outside.notes())
    if (known.has(role.tag)) continue
    const session_id = role.with === undefined ? undefined : known.get(role.with)?.session_id
    // An earlier life may have been asked and have died before it could answer.
    const { sessionId: into, runId: run_id } =
      (await findRun(sw, role.tag)) ??
      (await sw.runs.start({
        agent: 'clerk',
        input: role.tag,
        ...(role.mode === undefined ? {} : { mode: role.mode }),
        interactiveRequireUserReply: role.silent !== true,
        ...(session_id === undefined ? {} : { sessionId: session_id }),
      }))
    await outside.note({ told: 'submitted', tag: role.tag, session_id: into, run_id })
    acted = true
  }
  return acted
}

async function findRun({ runelog }: Statewright, tag: string) {
  const rows = await runelog.rows(subjects)
  const sessions = new Set(rows.map((row) => (row.value as { session_id: string }).session_id))
  for (const session_id of sessions)
    for (const rune of await runelog.read(session_id))
      if (rune.kind === 'run.submitted' && rune.payload.input === tag)
        return { sessionId: session_id, runId: rune.run_id ?? '' }
  return undefined
}

async function stopSome({ sw, outside }: Stage, roles: readonly Role[]): Promise<boolean> {
  let acted = false
  for (const role of roles) {
    const notes = await outside.notes()
    const run = submissions(notes).get(role.tag)
    if (role.stop === undefined || run === undefined || !(await isTime(role.stop.once, run))) continue
    const { session_id, run_id } = run
    if (role.stop.by === 'cancel') {
      if (notes.some((n) => n.told === 'cancelled' && n.run_id === run_id)) continue
      const { accepted } = await sw.runs.cancel(run_id)
      await outside.note({ told: 'cancelled', run_id, accepted })
    } else {
      if (notes.some((n) => n.told === 'closed' && n.session_id === session_id)) continue
      // A restart finishes a closing that it finds.
      if (!(await sw.runelog.head(session_id))?.sealed) await sw.sessions.close(session_id)
      await outside.note({ told: 'closed', session_id })
    }
    acted = true
  }
  return acted

  async function isTime(once: 'submitted' | 'waiting' | 'begun', { run_id }: Submitted) {
    if (once === 'submitted') return true
    if (once === 'waiting') return (await sw.runs.show(run_id)).status === 'waiting_user'
    return (await outside.effects()).some((effect) => effect.run_id === run_id)
  }
}

async function readResults({ sw, outside }: Stage): Promise<boolean> {
  let acted = false
  const notes = await outside.notes()
  for (const { run_id } of submissions(notes).values()) {
    if (notes.some((n) => n.told === 'result' && n.run_id === run_id)) continue
    const { status } = await sw.runs.show(run_id)
    if (status !== 'succeeded' && status !== 'failed' && status !== 'canceled') continue
    const { result } = await (await sw.runs.get(run_id)).result()
    await outside.note({ told: 'result', run_id, status, result })
    acted = true
  }
  return acted
}

async function answerInbox({ sw, outside }: Stage, roles: readonly Role[]): Promise<boolean> {
  let acted = false
  for (const open of await sw.inbox.list()) {
    const { interaction_id } = open
    const notes = await outside.notes()
    const tag = [...submissions(notes).values()].find((n) => n.run_id === open.run_id)?.tag
    const isSilent = roles.some((role) => role.silent && role.tag === tag)
    if (isSilent && open.interaction_kind !== 'settlement') continue
    if (notes.some((n) => n.told === 'replied' && n.interaction_id === interaction_id)) continue
    const reply = await replyTo(sw, outside, open)
    await sw.inbox.reply(interaction_id, { reply, idempotencyKey: interaction_id })
    await outside.note({ told: 'replied', interaction_id, reply })
    acted = true
  }
  return acted
}

/** Approvals by tool, forms with data, and the truth about what happened, by asking the world. */
async function replyTo(sw: Statewright, outside: Outside, open: OpenInteraction): Promise<Json> {
  const { tool } = await requestOf(sw, open)
  if (open.interaction_kind === 'approval') {
    const { digest } = await sw.inbox.get(open.interaction_id)
    return tool === 'accounts.delete' ? { decision: 'deny' } : { decision: 'approve', digest }
  }
  if (open.interaction_kind === 'ecs') return { action: 'approve', data: await dataFor(sw, open) }
  return truthAbout(sw, outside, open)
}

async function dataFor(sw: Statewright, open: OpenInteraction): Promise<Json> {
  const { fields } = (await requestOf(sw, open)) as { fields: readonly { name: string; type?: string }[] }
  return Object.fromEntries(fields.map(({ name, type }) => [name, type === 'number' ? 2 : 'Hill Road 1']))
}

/** Whether an action happened, as the world knows it. */
export async function truthAbout(sw: Statewright, outside: Outside, open: OpenInteraction): Promise<Json> {
  const { execution_id } = await requestOf(sw, open)
  const done = (await outside.effects()).find((effect) => effect.execution_id === execution_id)
  return done === undefined
    ? { outcome: 'did_not', reason: 'It did not happen.' }
    : { outcome: 'happened', result: answerTo(done) }
}

async function requestOf({ runelog }: Statewright, { session_id, interaction_id }: OpenInteraction) {
  const asked = (await runelog.read(session_id)).find(
    (r): r is Rune<'interaction.opened'> => r.kind === 'interaction.opened' && r.interaction_id === interaction_id,
  )
  return asked?.payload.request ?? {}
}

function submissions(notes: readonly Note[]): ReadonlyMap<string, Submitted> {
  return new Map(notes.flatMap((note) => (note.told === 'submitted' ? [[note.tag, note]] : [])))
}
