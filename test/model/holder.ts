import type { ThreadName } from '../support/runes.ts'
import { type Act, closing, ending } from './act.ts'
import { keyIsTaken, type RowRef, type System } from './append.ts'
import { type Call, isIrreversible, newCall, type Setting, type Worker, type World } from './world.ts'

export function takingBy(world: World, worker: Worker): Act[] {
  if (world.run !== 'queued' || world[worker] !== 'free') return []
  const rows: RowRef[] = [world.turn === 'idle' ? 'taken' : 'retaken']
  return [
    {
      name: `${worker} takes the run`,
      by: 'holder',
      rows,
      guarded: true,
      after: (w) => {
        w[worker] = 'holding'
      },
    },
  ]
}

/** Only a worker that has the call in hand touches the world and, unless the habit is broken, only with the lease. */
export function effectsOf(system: System, world: World, worker: Worker): Act[] {
  const awake = world[worker] === 'holding' || (system.habit === 'effect_without_lease' && world[worker] === 'stale')
  if (!awake) return []
  return world.calls.flatMap((call, i) => {
    if (call.effect !== 'due' || call.hands !== worker) return []
    const touch = (effect: 'done' | 'broke', began: number) => (w: World) => {
      const c = w.calls[i] as Call
      c.effect = effect
      c.began += began
    }
    return [
      { name: `${worker} carries out call ${i}`, after: touch('done', 1) },
      { name: `${worker} finds that call ${i} cannot be done`, after: touch('broke', 0) },
    ]
  })
}

export function holdersWork(system: System, setting: Setting, world: World, worker: Worker): Act[] {
  const letGo = (w: World) => {
    w[worker] = 'free'
    w.request = null
  }
  const act = (name: string, rows: readonly RowRef[], after?: (w: World) => void): Act => ({
    name: `${worker}: ${name}`,
    by: 'holder',
    rows,
    ...(after === undefined ? {} : { after }),
  })
  // Requests of the run also bind the worker that acquires it next.
  const setBack = (w: World) => {
    w[worker] = 'free'
  }
  if (world.request === 'cancel') return [act('obeys the cancel', ['canceled', ...closing(world, worker)], letGo)]
  if (world.turn === 'streaming') {
    if (world.session === 'suspended') return [act('lets go', ['released'], letGo)]
    const acts = [
      act('the model is done', ['succeeded'], letGo),
      world.session === 'active'
        ? act('the stream breaks, try again', ['retried'])
        : act('the stream breaks, and no turn may begin', ['set_back'], setBack),
      act('the stream breaks for good', ['failed_in_stream'], letGo),
      act('the agent crashes', ['agent_crashed_in_stream'], letGo),
      act('the agent has no budget left', ['agent_spent'], letGo),
    ]
    if (world.request === 'steer')
      acts.push(
        world.session === 'active'
          ? act('is steered', ['steered'], (w) => {
              w.request = null
            })
          : act('is steered, and no turn may begin', ['released'], setBack),
      )
    if (world.rounds > 0) acts.push(receive(system, setting, world, worker))
    return acts
  }
  return toolWork(system, setting, world, worker, act, letGo)
}

function receive(system: System, setting: Setting, world: World, worker: Worker): Act {
  const first = world.calls.length
  const calls = [...world.calls, ...setting.calls.map(newCall)]
  const rows = setting.calls.map((kind, n): RowRef => {
    const i = first + n
    if (kind === 'form') return ['asked', i]
    const call = calls[i] as Call
    // A call of the same append that asks for the same action claims the key first.
    const earlier = calls.slice(0, i).map((c, at) => (at < first ? c : { ...c, contract: 'pending' as const }))
    const taken = keyIsTaken({ ...world, calls: earlier }, call) && system.habit !== 'key_not_claimed'
    return [taken ? 'duplicate_refused' : 'called', i]
  })
  return {
    name: `${worker}: the model calls ${setting.calls.join(', ')}`,
    by: 'holder',
    rows: ['calls_received', ...rows],
    before: (w) => {
      w.calls.push(...setting.calls.map(newCall))
      w.rounds--
    },
  }
}

function toolWork(
  system: System,
  setting: Setting,
  world: World,
  worker: Worker,
  act: (name: string, rows: readonly RowRef[], after?: (w: World) => void) => Act,
  letGo: (w: World) => void,
): Act[] {
  const acts: Act[] = []
  const due = (i: number) => (w: World) => {
    const call = w.calls[i] as Call
    call.effect = 'due'
    call.hands = worker
  }
  const recorded = (i: number) => (w: World) => {
    const call = w.calls[i] as Call
    call.effect = 'none'
    call.hands = null
  }
  acts.push(act('the agent crashes', ['agent_crashed_in_tools', ...closing(world, worker)], letGo))
  const waits: RowRef[] = []
  let busy = false
  let asking = false

  for (const [i, call] of world.calls.entries()) {
    const mine = (name: string, row: RowRef, after?: (w: World) => void) => {
      busy = true
      acts.push(act(`call ${i} ${name}`, [row], after))
    }
    const ends = (name: string, row: ThreadName, after: (w: World) => void) => {
      busy = true
      acts.push(act(`call ${i} ${name}`, ending(call, i, row), after))
    }
    if (call.tool === 'pending_call' && call.kind !== 'pay_approved') {
      mine('begins', ['started', i], due(i))
      if (call.kind === 'pay') mine('begins by policy', ['started_by_policy', i], due(i))
      if (system.habit === 'effect_before_record') reverse(acts, worker, i)
    }
    if (call.tool === 'pending_call' && call.kind === 'pay_approved') {
      if (setting.mode === 'auto') {
        mine('is denied by policy', ['denied_by_policy', i])
        // Whether a run may wait for a person is for the guard to say.
        acts.push({ ...act(`call ${i} waits for approval`, ['parked', ['approval_asked', i]], letGo), guarded: true })
      } else waits.push(['approval_asked', i])
    }
    if (call.kind === 'form' && call.contract === 'pending') {
      if (setting.mode === 'auto') {
        mine('takes its defaults', ['step_defaulted', i])
        mine('has no defaults', ['step_declined', i])
      } else waits.push(['step_asked', i])
    }
    if (call.contract === 'running' && call.hands === worker) {
      mine('reports', ['progressed', i])
      // Three calls that may all ask are many worlds: those are for the proof, which tries more faults.
      const mayAsk = setting.mode === 'interactive' && (setting.calls.length < 3 || setting.faults > 1)
      if (mayAsk && call.interaction === null && call.effect === 'due') mine('asks a person', ['input_asked', i])
      if (call.effect === 'done') ends('succeeded', 'succeeded', recorded(i))
      if (call.effect === 'broke') ends('failed', 'failed', recorded(i))
      if (call.effect === 'done' && !isIrreversible(call)) ends('took too long', 'timed_out', recorded(i))
    }
    if (call.contract === 'running' && call.hands !== worker) {
      if (!isIrreversible(call) || system.habit === 'retry_after_crash') {
        busy = true
        const name = `call ${i} is repeated`
        if (call.interaction === 'open') acts.push(act(name, [['input_withdrawn', i]], due(i)))
        else acts.push({ name: `${worker}: ${name}`, after: due(i) })
      } else if (setting.mode === 'interactive') waits.push(...ending(call, i, 'unknown_asked'))
      else {
        busy = true
        const rows: RowRef[] = ['failed_in_tools', ...closing(world, worker)]
        acts.push(act(`the outcome of call ${i} is unknown`, rows, letGo))
      }
    }
    if (call.contract === 'waiting' && call.interaction !== 'open' && call.interaction !== null)
      for (const [name, row, after] of answers(call, i, due(i))) mine(name, row, after)
    if (call.contract === 'waiting' && call.answer === 'leave') {
      busy = true
      acts.push(act(`call ${i} is left open`, ['failed_in_tools', ...closing(world, worker)], letGo))
    }
    if (call.interaction === 'open') asking = true
  }
  if (busy) return acts
  if (waits.length > 0 || asking) return [...acts, act('waits for people', ['parked', ...waits], letGo)]

  const done = (w: World) => {
    w.calls = []
  }
  return [
    ...acts,
    act('goes on', ['continued'], (w) => {
      // A key that was once used stays used; only calls that no key depends on are forgotten.
      w.calls = w.calls.filter((c) => isIrreversible(c))
    }),
    act('is done by its tools', ['succeeded_by_tools'], (w) => {
      letGo(w)
      done(w)
    }),
  ]
}

/** The write-ahead order reversed: the world is touched first, the record follows. */
function reverse(acts: Act[], worker: Worker, i: number) {
  acts.push({
    name: `${worker}: call ${i} is carried out before its record`,
    after: (w) => {
      const call = w.calls[i] as Call
      if (call.began === 0 || w.faults > 0) call.began++
    },
  })
}

function answers(call: Call, i: number, due: (w: World) => void): [string, RowRef, ((w: World) => void)?][] {
  const yes = call.answer === 'yes'
  const lapsed = call.interaction === 'expired'
  if (call.reason === 'approval') {
    if (lapsed) return [['was not approved in time', ['approval_lapsed', i]]]
    return [yes ? ['is approved', ['approved', i], due] : ['is denied', ['denied', i]]]
  }
  if (call.reason === 'ecs') {
    if (lapsed)
      return [
        ['was not taken in time', ['step_lapsed', i]],
        ['took its default', ['step_taken', i]],
      ]
    return [yes ? ['is taken', ['step_taken', i]] : ['is refused', ['step_refused', i]]]
  }
  if (call.answer === 'leave') return []
  return [
    yes ? ['is known to have happened', ['settled_happened', i]] : ['is known not to have', ['settled_did_not', i]],
  ]
}
