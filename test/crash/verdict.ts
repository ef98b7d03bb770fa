import { canonicalJson } from '../../src/kernel/json.ts'
import { subjects } from '../../src/runelog/models.ts'
import type { Runelog } from '../../src/runelog/port.ts'
import type { Rune } from '../../src/runes/rune.ts'
import { auditRunes } from '../support/audit-runes.ts'
import { verifierOf } from '../support/verifier.ts'
import type { Effect, Note, Outside } from './outside.ts'
import type { Role } from './plays.ts'
import { declarations, isRepeatable } from './tools.ts'

/** Everything that is wrong with what is on disk and in the world, when all is said and done. */
export async function verdict(disk: Runelog, outside: Outside, roles: readonly Role[]): Promise<readonly string[]> {
  const logs = await allLogs(disk)
  const runes = logs.flat()
  const sessions = logs.flatMap(([first]) => (first === undefined ? [] : [first.session_id]))
  const notes = await outside.notes()
  return [
    ...auditRunes(runes),
    ...(await Promise.all(sessions.map((session_id) => chainProblems(disk, session_id, notes)))).flat(),
    ...unfinished(runes),
    ...roles.flatMap((role) => endProblems(runes, role)),
    ...callProblems(runes),
    ...leftOpen(runes),
    ...effectProblems(runes, await outside.effects()),
    ...notes.flatMap((note) => noteProblems(runes, note)),
  ]
}

async function allLogs(disk: Runelog): Promise<readonly (readonly Rune[])[]> {
  const rows = await disk.rows(subjects)
  const sessions = new Set(rows.map((row) => (row.value as { session_id: string }).session_id))
  return Promise.all([...sessions].map((session_id) => disk.read(session_id)))
}

/** The chain holds, and every append that was ever answered is in it. */
async function chainProblems(disk: Runelog, session_id: string, notes: readonly Note[]): Promise<readonly string[]> {
  const marks = notes.flatMap((n) => (n.told === 'recorded' && n.session_id === session_id ? [n] : []))
  const verifier = verifierOf(session_id, marks)
  for await (const record of disk.records(session_id)) {
    const bad = verifier.take(record)
    if (bad !== undefined) return [`${session_id}, event ${bad.event_id}: ${bad.problem}`]
  }
  const bad = verifier.end()
  return bad === undefined ? [] : [`${session_id}, event ${bad.event_id}: ${bad.problem}`]
}

const endings: Readonly<Record<string, readonly string[]>> = {
  run: ['succeeded', 'failed', 'canceled'],
  contract: ['completed', 'failed', 'rejected', 'cancelled'],
  interaction: ['answered', 'expired', 'withdrawn'],
}

function unfinished(runes: readonly Rune[]): readonly string[] {
  const at = new Map<string, Rune>()
  for (const rune of runes) if (rune.subject_id !== undefined) at.set(rune.subject_id, rune)
  return [...at.values()].flatMap(({ machine = '', subject_id, to = '' }) =>
    endings[machine]?.includes(to) === false ? [`${machine} ${subject_id} is still ${to}`] : [],
  )
}

/** A crash may cost time; it does not change what a run comes to. */
function endProblems(runes: readonly Rune[], { tag, ends = ['succeeded'] }: Role): readonly string[] {
  const run = runes.find((r) => r.kind === 'run.submitted' && r.payload.input === tag)?.run_id
  const to = runes.findLast((r) => r.kind === 'run.moved' && r.run_id === run)?.to ?? 'nowhere'
  return ends.includes(to) ? [] : [`${tag} was to end as ${ends.join(' or ')}, and it is ${to}`]
}

function callProblems(runes: readonly Rune[]): readonly string[] {
  const count = (kind: string, call_id: string | undefined) =>
    runes.filter((r) => r.kind === kind && r.call_id === call_id).length
  return runes.flatMap((rune) => {
    if (rune.kind === 'tool.result' && count('tool.call', rune.call_id) !== 1)
      return [`${rune.call_id} has a result and ${count('tool.call', rune.call_id)} calls`]
    if (rune.kind !== 'tool.call') return []
    const results = count('tool.result', rune.call_id)
    return results === 1 ? [] : [`${rune.call_id} has ${results} results`]
  })
}

/** Once a run is over, the answers to its questions are of no use, except about the outcome of an action. */
function leftOpen(runes: readonly Rune[]): readonly string[] {
  const open = new Map<string, string | undefined>()
  return runes.flatMap((rune) => {
    const { interaction_id = '', run_id, to = '' } = rune
    if (rune.kind === 'interaction.opened' && rune.payload.interaction_kind !== 'settlement')
      open.set(interaction_id, run_id)
    else if (rune.machine === 'interaction') open.delete(interaction_id)
    if (rune.kind !== 'run.moved' || !endings.run?.includes(to)) return []
    return [...open].flatMap(([id, of]) => (of === run_id ? [`${id} is left open by ${run_id}, which is ${to}`] : []))
  })
}

/**
 * A task that was handed to another agent is not taken up and finished after
 * the one that gave it is over; unless it wins every race against its withdrawal.
 */
export async function orphanProblems(disk: Runelog): Promise<readonly string[]> {
  return (await allLogs(disk)).flatMap(orphansIn)
}

function orphansIn(log: readonly Rune[]): readonly string[] {
  const runOf = new Map(log.flatMap((r) => (r.kind === 'tool.call' ? [[r.call_id, r.run_id]] : [])))
  const over = new Set<string | undefined>()
  const orphans = new Set<string | undefined>()
  const parents = new Map<string | undefined, string | undefined>()
  return log.flatMap((rune) => {
    const { run_id, to = '' } = rune
    if (rune.kind === 'run.submitted') parents.set(run_id, runOf.get(rune.payload.parent_call_id ?? ''))
    if (rune.kind !== 'run.moved') return []
    const parent = parents.get(run_id)
    if (to === 'running' && parent !== undefined && over.has(parent)) orphans.add(run_id)
    if (endings.run?.includes(to)) over.add(run_id)
    return to === 'succeeded' && orphans.has(run_id) ? [`${run_id} was done after ${parent} was over`] : []
  })
}

/** The record agrees with the effects, and no irreversible action happened twice. */
function effectProblems(runes: readonly Rune[], effects: readonly Effect[]): readonly string[] {
  const problems: string[] = []
  const once = new Map<string, number>()
  for (const { tool, session_id, key } of effects) {
    if (isRepeatable(tool)) continue
    const name = `${tool} with key ${key} in ${session_id}`
    once.set(name, (once.get(name) ?? 0) + 1)
  }
  for (const [name, times] of once) if (times > 1) problems.push(`${name} happened ${times} times`)

  const contracts = new Map<string, { tool: string; irreversible: boolean; status: string }>()
  for (const rune of runes)
    if (rune.kind === 'contract.opened' && rune.payload.action_summary in declarations) {
      const { action_summary, irreversible } = rune.payload
      contracts.set(rune.execution_id ?? '', { tool: action_summary, irreversible, status: 'pending' })
    } else if (rune.kind === 'contract.moved') {
      const contract = contracts.get(rune.execution_id ?? '')
      if (contract !== undefined) contract.status = rune.to ?? ''
    }
  for (const { tool, execution_id } of effects)
    if (!contracts.has(execution_id)) problems.push(`${tool} happened as ${execution_id}, of which there is no record`)
  for (const [execution_id, { tool, irreversible, status }] of contracts) {
    const happened = effects.some((effect) => effect.execution_id === execution_id)
    if (status === 'completed' && !happened) problems.push(`${tool} is on record as completed and never happened`)
    // A reversible or idempotent call may be given up while it is under way.
    const isHarmless = !irreversible || isRepeatable(tool)
    const mayHaveHappened = isHarmless && (status === 'cancelled' || status === 'failed')
    if (status !== 'completed' && happened && !mayHaveHappened)
      problems.push(`${tool} happened and is on record as ${status}`)
  }
  return problems
}

/** Every answer that a client got is on record. */
function noteProblems(runes: readonly Rune[], note: Note): readonly string[] {
  const ended = (run_id: string) =>
    runes.findLast((r): r is Rune<'run.moved'> => r.kind === 'run.moved' && r.run_id === run_id)
  switch (note.told) {
    case 'submitted': {
      const found = runes.filter((r) => r.kind === 'run.submitted' && r.payload.input === note.tag)
      return found.length === 1 && found[0]?.run_id === note.run_id
        ? []
        : [`${note.run_id} was acknowledged for ${note.tag}, and the log has ${found.map((r) => r.run_id)}`]
    }
    case 'replied': {
      const answers = runes.filter(
        (r): r is Rune<'interaction.answered'> =>
          r.kind === 'interaction.answered' && r.interaction_id === note.interaction_id,
      )
      const same =
        answers.length === 1 && canonicalJson(answers[0]?.payload.reply ?? null) === canonicalJson(note.reply)
      return same ? [] : [`a reply to ${note.interaction_id} was acknowledged and is not on record`]
    }
    case 'cancelled': {
      const to = ended(note.run_id)?.to
      return note.accepted && to !== 'canceled' ? [`cancelling ${note.run_id} was accepted, and it is ${to}`] : []
    }
    case 'closed': {
      const closed = runes.some((r) => r.kind === 'session.closed' && r.session_id === note.session_id)
      return closed ? [] : [`closing ${note.session_id} was acknowledged and is not on record`]
    }
    case 'result': {
      const end = ended(note.run_id)
      const same = end?.to === note.status && canonicalJson(end.payload.result ?? null) === canonicalJson(note.result)
      return same ? [] : [`${note.run_id} was said to be ${note.status}, and the log says ${end?.to}`]
    }
    case 'recorded':
      return []
  }
}
