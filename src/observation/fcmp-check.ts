import { boundedJson, jsonLimits, type Problem } from '../kernel/json.ts'
import { isTerminal, stateNames } from '../kernel/machine.ts'
import { type RunStatus, runMachine } from '../machines/run.ts'
import { changes, type FcmpEvent, readFcmpEvent } from '../wire/fcmp.ts'

type Change = FcmpEvent<'conversation.state.changed'>

/** The facts that the caller has about the run. */
export interface Expected {
  /** The run that every event must belong to. Default: the run of the first event. */
  readonly runId?: string
  /** The status that the stream must leave the run in. Default: any. */
  readonly status?: RunStatus
}

const statuses: ReadonlySet<RunStatus> = new Set(stateNames(runMachine))

/** After so many problems the rest of the stream is not checked. */
const most = 100

/**
 * Checks the stream of a run from its first event on: a list of parsed events. Takes any value, never throws, and
 * returns the problems in order, each with a JSON pointer; none if the stream is whole and legal. Only a caller that
 * knows the `status` of the run can find that the last events are missing.
 */
export function checkFcmp(events: unknown, expected: Expected = {}): readonly Problem[] {
  const known = readExpected(expected)
  if ('problem' in known) return [{ pointer: '', problem: known.problem }]
  const { runId: run_id, status } = known
  const length = lengthOf(events)
  if (length === undefined) return [{ pointer: '', problem: 'It is not a list of events.' }]
  const problems: Problem[] = []
  const read: (FcmpEvent | undefined)[] = []
  for (let i = 0; i < length && problems.length < most; i++) {
    const found = readAt(events as readonly unknown[], i)
    read.push('event' in found ? found.event : undefined)
    if ('problems' in found)
      problems.push(...found.problems.map(({ pointer, problem }) => ({ pointer: `/${i}${pointer}`, problem })))
  }

  const walk = createWalk(run_id)
  for (let i = 0; i < read.length && problems.length < most; i++)
    for (const [where, problem] of walk.step(read, i)) problems.push({ pointer: `/${i}${where}`, problem })
  if (problems.length >= most)
    return [...problems.slice(0, most), { pointer: '', problem: `There are ${most} problems or more.` }]
  const end = walk.end(status)
  return end === undefined ? problems : [...problems, { pointer: '', problem: end }]
}

/** Both arguments may be any value: a proxy or a getter may throw on any access. */
function readExpected(given: unknown): Expected | { readonly problem: string } {
  try {
    const { runId, status } = given as { readonly runId?: unknown; readonly status?: unknown }
    const unknown = Object.keys(given as object).find((field) => field !== 'runId' && field !== 'status')
    if (unknown !== undefined)
      return { problem: `Unknown field ${JSON.stringify(unknown)} of the expected run. Known fields: runId, status.` }
    if (runId !== undefined && typeof runId !== 'string')
      return { problem: 'The runId that is expected is not a string. Give the id of the run, or leave it out.' }
    if (status !== undefined && !statuses.has(status as RunStatus))
      return { problem: `The expected status is not one of ${[...statuses].join(', ')}.` }
    return { ...(runId !== undefined && { runId }), ...(status !== undefined && { status: status as RunStatus }) }
  } catch {
    return { problem: 'What is expected of the run cannot be read. Give { runId, status }, or leave it out.' }
  }
}

function lengthOf(events: unknown): number | undefined {
  try {
    return Array.isArray(events) ? events.length : undefined
  } catch {
    return undefined
  }
}

function readAt(events: readonly unknown[], i: number): ReturnType<typeof readFcmpEvent> {
  try {
    const copied = boundedJson(events[i], jsonLimits.result)
    return 'problem' in copied ? unreadable(copied.problem) : readFcmpEvent(copied.value)
  } catch {
    return unreadable('Reading it throws an error.')
  }
}

const unreadable = (problem: string) => ({ problems: [{ pointer: '', problem }] })

/** The place in the event, and its problem. */
type Found = readonly [where: string, problem: string]

/** Walks a stream. After an event that could not be read (undefined) the state is unknown until the next one has it. */
function createWalk(of: string | undefined) {
  const open = new Set<string>()
  const closed = new Set<string>()
  /** Questions asked since the run moved; undefined is one without id. */
  const put = new Set<string | undefined>()
  let run_id = of
  let engine: string | undefined
  let time = ''
  let at: RunStatus | undefined = runMachine.initial
  let attempt: number | undefined = 0
  /** The run waits for a question that is not public. */
  let waitsForHidden = false
  /** A question was closed in a way that only the end of the run explains. */
  let mustEnd = false
  /** An event before could not be read; a question may have been opened or closed in it. */
  let isBlind = false

  function* envelope(event: FcmpEvent, i: number): Generator<Found> {
    run_id ??= event.run_id
    engine ??= event.engine
    if (event.run_id !== run_id) yield ['/run_id', `It belongs to ${event.run_id}, the stream to ${run_id}.`]
    if (event.engine !== engine) yield ['/engine', `It names ${event.engine}; the events before name ${engine}.`]
    if (event.seq !== i + 1) yield ['/seq', `It has number ${event.seq}; ${i + 1} is its place.`]
    if (event.ts < time) yield ['/ts', `Its time ${event.ts} is before ${time}, the time of an event before it.`]
    if (event.ts > time) time = event.ts
    if (isTerminal(runMachine, at)) yield ['', `It comes after the run was ${at}.`]
    if (event.type === 'conversation.state.changed' && event.data.trigger === 'turn.started' && attempt !== undefined)
      attempt += 1
    attempt ??= event.meta.attempt
    const expected = attempt === 0 ? 1 : attempt
    if (event.meta.attempt === expected) return
    yield ['/meta/attempt', `It says attempt ${event.meta.attempt}; this is attempt ${expected}.`]
  }

  function* instantOf(event: FcmpEvent, name: string, instant: string): Generator<Found> {
    if (instant !== event.ts) yield [`/data/${name}`, `It happened at ${instant}, and the event says ${event.ts}.`]
  }

  function* asked(event: FcmpEvent<'user.input.required'>, next: Next): Generator<Found> {
    const { interaction_id } = event.data
    const isFirst = interaction_id !== undefined && !open.has(interaction_id)
    if (interaction_id === undefined) waitsForHidden = true
    else if (closed.has(interaction_id))
      yield ['/data/interaction_id', `${interaction_id} is closed, and is asked again.`]
    else open.add(interaction_id)
    if (put.has(interaction_id))
      yield [
        '/data/interaction_id',
        `${interaction_id ?? 'A question'} is asked twice, and the run did not move between.`,
      ]
    put.add(interaction_id)
    if (at === 'running' && isFirst) return
    const leads = next === 'unknown' || next?.type === event.type || (isChange(next) && isWait(next))
    if (!leads) yield ['/type', 'Neither another question nor a change to waiting_user comes next.']
  }

  function* ended(interaction_id: string): Generator<Found> {
    if (!open.delete(interaction_id) && !isBlind)
      yield ['/data/interaction_id', `${interaction_id} is closed and was not open.`]
    closed.add(interaction_id)
  }

  function* resolved(event: Resolution, next: Next): Generator<Found> {
    yield* instantOf(event, 'accepted_at', event.data.accepted_at)
    yield* ended(event.data.interaction_id)
    if (at !== 'waiting_user' || next === 'unknown') return
    const explains = isChange(next) && next.data.trigger === event.type
    if (!explains) yield ['/type', 'The run waits, and no change that it explains comes next.']
  }

  function* gone(event: FcmpEvent<'interaction.closed'>): Generator<Found> {
    yield* instantOf(event, 'closed_at', event.data.closed_at)
    yield* ended(event.data.interaction_id)
    mustEnd ||= at === 'waiting_user' || event.data.resolution_mode === 'left_to_inbox'
  }

  function* changed(event: Change, read: Read, i: number): Generator<Found> {
    const { from, to, trigger, terminal, updated_at, pending_interaction_id: pending } = event.data
    yield* instantOf(event, 'updated_at', updated_at)
    if (at !== undefined && from !== at) yield ['/data/from', `It leaves ${from}, and the run was ${at}.`]
    if (!changes.some((t) => t.from === from && t.on === trigger && t.to === to))
      yield ['/data', `${runMachine.name} v${runMachine.version} has no ${from} → ${to} on ${trigger}.`]
    if (isTerminal(runMachine, to) !== (terminal !== undefined))
      yield ['/data/terminal', terminal ? `${to} is not terminal.` : `The run ends as ${to} and does not say how.`]
    else if (terminal !== undefined && terminal.status !== to)
      yield ['/data/terminal/status', `It ends as ${terminal.status} and goes to ${to}.`]

    yield* explained(event, before(read, i))
    if (isWait(event)) yield* waits(pending, read, i)
    else {
      if (pending !== undefined) yield ['/data/pending_interaction_id', `${to} waits for nothing.`]
      waitsForHidden = false
    }
    if (isTerminal(runMachine, to))
      for (const id of open) yield ['', `The run ends, and ${id} was opened and never closed.`]
    else if (mustEnd) yield ['', 'A question was closed as if the run ended, and it does not.']
    mustEnd = false
    put.clear()
    at = to
  }

  /** A change that a named event has to explain. */
  function* explained({ data: { trigger } }: Change, last: Next): Generator<Found> {
    if (last === 'unknown') return
    const isResolution = trigger === 'interaction.reply.accepted' || trigger === 'interaction.auto_decide.timeout'
    const needed = trigger === 'turn.succeeded' ? 'assistant.message.final' : isResolution ? trigger : undefined
    if (needed === undefined || last?.type === needed || (isResolution && waitsForHidden)) return
    yield ['/data/trigger', `No ${needed} comes right before it.`]
  }

  /** All questions that are open come right before the change, and it names the first of them. */
  function* waits(pending: string | undefined, read: Read, i: number): Generator<Found> {
    const group: (string | undefined)[] = []
    let last = before(read, i)
    for (let k = i - 1; last !== 'unknown' && last?.type === 'user.input.required'; k--) {
      group.unshift(last.data.interaction_id)
      last = before(read, k)
    }
    if (last === 'unknown') return
    if (group.length === 0) yield ['/data/to', 'It waits, and no user.input.required comes right before it.']
    else if (group[0] !== pending)
      yield ['/data/pending_interaction_id', `It waits for ${pending ?? 'no id'}; ${group[0] ?? 'no id'} was asked.`]
    for (const id of open)
      if (!group.includes(id)) yield ['/data/to', `It waits, and ${id}, which is open, was not asked again.`]
  }

  return {
    *step(read: Read, i: number): Generator<Found> {
      const event = read[i]
      if (event === undefined) {
        at = undefined
        attempt = undefined
        put.clear()
        isBlind = true
        return
      }
      yield* envelope(event, i)
      const next = i + 1 < read.length ? (read[i + 1] ?? 'unknown') : undefined
      switch (event.type) {
        case 'conversation.state.changed':
          return yield* changed(event, read, i)
        case 'user.input.required':
          return yield* asked(event, next)
        case 'interaction.reply.accepted':
        case 'interaction.auto_decide.timeout':
          return yield* resolved(event, next)
        case 'interaction.closed':
          return yield* gone(event)
        case 'assistant.message.final':
          if (next === 'unknown' || (isChange(next) && next.data.trigger === 'turn.succeeded')) return
          yield ['/type', 'No change on turn.succeeded comes next.']
      }
    },
    end(status: RunStatus | undefined): string | undefined {
      if (mustEnd) return 'A question was closed as if the run ended, and the stream does not end it.'
      if (status === undefined || at === undefined || at === status) return undefined
      return `The run is ${status}, and the stream leaves it ${at}.`
    },
  }
}

type Read = readonly (FcmpEvent | undefined)[]
type Resolution = FcmpEvent<'interaction.reply.accepted'> | FcmpEvent<'interaction.auto_decide.timeout'>

/** A neighbour: none at either end of the stream, `unknown` if it could not be read. */
type Next = FcmpEvent | 'unknown' | undefined

const before = (read: Read, i: number): Next => (i === 0 ? undefined : (read[i - 1] ?? 'unknown'))

function isChange(event: Next): event is Change {
  return typeof event === 'object' && event.type === 'conversation.state.changed'
}

const isWait = ({ data }: Change): boolean => runMachine.states[data.to].resumable === true
