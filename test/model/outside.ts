import { type Act, closing, isOver } from './act.ts'
import type { RowRef } from './append.ts'
import { type Call, type Worker, type World, workers } from './world.ts'

/** Kills, pauses, wake-ups. The memory of a killed worker about its effects is gone. */
export function lifeOf(world: World, worker: Worker): Act[] {
  const acts: Act[] = []
  const become = (state: World[Worker]) => (w: World) => {
    w[worker] = state
  }
  if (world[worker] === 'holding' && world.faults > 0) {
    acts.push({
      name: `${worker} is killed`,
      after: (w) => {
        w.faults--
        w[worker] = 'dead'
        forget(w, worker)
      },
    })
    acts.push({
      name: `${worker} is paused`,
      after: (w) => {
        w.faults--
        w[worker] = 'paused'
      },
    })
  }
  if (world[worker] === 'paused') acts.push({ name: `${worker} wakes`, after: become('holding') })
  if (world[worker] === 'overtaken') acts.push({ name: `${worker} wakes too late`, after: become('stale') })
  if (world[worker] === 'stale')
    acts.push({
      name: `${worker} finds its fence stale and parks`,
      after: (w) => {
        forget(w, worker)
        w[worker] = 'free'
      },
    })
  return acts
}

function forget(world: World, worker: Worker) {
  for (const call of world.calls)
    if (call.hands === worker) {
      call.hands = null
      if (call.effect !== 'none') call.effect = 'lost'
    }
}

export function recovery(world: World): Act[] {
  const abandon = (rows: RowRef[]): Act => ({
    name: 'it cannot be continued',
    by: 'command',
    rows,
    after: (w) => {
      w.request = null
      overtake(w)
    },
  })
  if (world.run === 'queued' || world.run === 'waiting_user')
    return [abandon(world.turn === 'idle' ? ['unrecoverable'] : ['unrecoverable_in_tools', ...closing(world, null)])]
  const gone = workers.filter((w) => world[w] === 'dead' || world[w] === 'paused')
  if (world.run !== 'running' || workers.some((w) => world[w] === 'holding') || gone.length === 0) return []
  const streaming = world.turn === 'streaming'
  return [
    { name: 'the lease expires', by: 'command', rows: [streaming ? 'lost_in_stream' : 'lost'], after: overtake },
    abandon(streaming ? ['unrecoverable_in_stream'] : ['unrecoverable_in_tools', ...closing(world, null)]),
  ]
}

/** The epoch went up: the holder loses its lease, and a killed process may come back as a new one. */
function overtake(world: World) {
  for (const worker of workers) {
    if (world[worker] === 'paused') world[worker] = 'overtaken'
    if (world[worker] === 'dead') world[worker] = 'free'
  }
}

export function people(world: World): Act[] {
  const acts: Act[] = []
  const waiting = world.run === 'waiting_user'
  for (const [i, call] of world.calls.entries()) {
    if (call.interaction !== 'open') continue
    const say = (answer: Call['answer']) => (w: World) => {
      const c = w.calls[i] as Call
      c.answer = answer
    }
    const unknown = call.reason === 'outcome_unknown'
    // People tell the truth: an effect that did not begin cannot have happened.
    const words = unknown ? ([call.began > 0 ? 'yes' : 'no', 'leave'] as const) : (['yes', 'no'] as const)
    for (const answer of words) {
      if (isOver(world) && answer === 'leave') continue
      const late = answer === 'yes' ? 'settled_happened_late' : 'settled_did_not_late'
      const rows: RowRef[] = isOver(world) ? [[late, i]] : [...(waiting ? (['replied'] as const) : []), ['answered', i]]
      acts.push({ name: `someone answers ${answer} to call ${i}`, by: 'command', rows, after: say(answer) })
    }
    // Whether a deadline applies is for the guard to say.
    if (!isOver(world))
      acts.push({
        name: `the deadline of call ${i} passes`,
        by: 'command',
        rows: [...(waiting ? (['lapsed'] as const) : []), ['expired', i]],
        guarded: true,
      })
  }
  if (waiting) acts.push({ name: 'a cold start keeps it waiting', by: 'command', rows: ['kept_waiting'] })
  if (isOver(world)) return acts
  const ask = (request: World['request']): Act => ({
    name: `someone asks to ${request}`,
    by: 'command',
    rows: ['requested'],
    after: (w) => {
      w.request = request
    },
  })
  if (world.request === null) acts.push(ask('steer'), ...(world.run === 'running' ? [ask('cancel')] : []))
  if (world.run !== 'running') {
    const rows: RowRef[] = world.turn === 'idle' ? ['canceled_at_rest'] : ['canceled', ...closing(world, null)]
    acts.push({
      name: 'someone cancels',
      by: 'command',
      rows,
      after: (w) => {
        w.request = null
      },
    })
  }
  return acts
}

export function sessionCommands(world: World): Act[] {
  const act = (name: string, rows: readonly RowRef[]): Act => ({ name, by: 'command', rows })
  switch (world.session) {
    case 'active':
      return [
        act('someone pauses the session', ['paused']),
        act('the session runs out of budget', ['spent']),
        act('the session has too many errors', ['troubled']),
        ...(isOver(world) && world.agent === 'idle'
          ? [act('the agent is killed', ['agent_killed']), act('the agent is spent', ['agent_exhausted'])]
          : []),
        ...(isOver(world) ? [act('someone closes the session', ['closing'])] : []),
      ]
    case 'paused':
      return [act('someone resumes the session', ['resumed'])]
    case 'suspended':
      return [act('someone replenishes the session', ['replenished']), act('someone resets the session', ['reset'])]
    case 'closing':
      return [act('the session is closed', world.agent === 'idle' ? ['agent_dismissed', 'closed'] : ['closed'])]
    case 'closed':
      return [act('the session is archived', ['archived'])]
    default:
      return []
  }
}
