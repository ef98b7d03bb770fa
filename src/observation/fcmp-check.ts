import { isEndOfRun, type RunStatus, runMachine } from '../machines/run.ts'
import { type FcmpEvent, type FcmpType, fcmpVersion } from './fcmp-event.ts'

type Change = FcmpEvent<'conversation.state.changed'>

/** Events that explain a change stand right before it; these are the changes they may stand before. */
const explains: { readonly [T in FcmpType]?: (change: Change) => boolean } = {
  'interaction.reply.accepted': ({ data }) => data.trigger === 'interaction.reply.accepted',
  'interaction.auto_decide.timeout': ({ data }) => data.trigger === 'interaction.auto_decide.timeout',
  'user.input.required': ({ data }) => runMachine.states[data.to]?.resumable === true,
  'assistant.message.final': ({ data }) => data.trigger === 'turn.succeeded',
}

/** A request is a move of the run, too, and changes nothing that a client could see. */
const changes = runMachine.transitions.filter((t) => t.rune === 'run.moved')

/** What is known about the run from elsewhere. */
export interface Expected {
  readonly run_id?: string
  readonly status?: RunStatus
}

/**
 * Checks the stream of a run from its first event on. Returns what is wrong
 * with it, in order. Only one that knows the `status` of the run can tell that
 * the last events are missing, its terminal change among them.
 */
export function checkFcmp(events: readonly FcmpEvent[], { run_id, status }: Expected = {}): readonly string[] {
  const problems: string[] = []
  let at: RunStatus = runMachine.initial
  let attempt = 0
  for (const [i, event] of events.entries()) {
    const say = (problem: string) => problems.push(`event ${i + 1} (${event.type}): ${problem}`)
    for (const problem of envelope(event, i, run_id ?? events[0]?.run_id)) say(problem)
    if (isEndOfRun(at)) say(`it comes after the run was ${at}`)

    if (event.type === 'conversation.state.changed') {
      if (event.data.from !== at) say(`it leaves ${event.data.from}, but the run was ${at}`)
      for (const problem of change(event)) say(problem)
      for (const problem of unexplained(event, events[i - 1])) say(problem)
      if (event.data.trigger === 'turn.started') attempt += 1
      at = event.data.to
    } else for (const problem of dangling(event, events[i + 1])) say(problem)

    if (event.meta.attempt !== attempt) say(`it says attempt ${event.meta.attempt}, but this is attempt ${attempt}`)
  }
  return status === undefined || status === at
    ? problems
    : [...problems, `the run is ${status}, but the stream leaves it ${at}`]
}

const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

function envelope({ protocol_version, run_id, seq, ts }: FcmpEvent, i: number, expected: string | undefined) {
  return [
    ...(protocol_version === fcmpVersion ? [] : [`it speaks ${protocol_version}, not ${fcmpVersion}`]),
    ...(run_id === expected ? [] : [`it belongs to ${run_id}, the stream to ${expected}`]),
    ...(seq === i + 1 ? [] : [`it has seq ${seq}, not ${i + 1}`]),
    ...(instant.test(ts) ? [] : [`its time is ${ts}, which is not ISO 8601 in UTC`]),
  ]
}

function change({ data, ts }: Change): readonly string[] {
  const { from, to, trigger, terminal, updated_at } = data
  const declared = changes.some((t) => t.from === from && t.on === trigger && t.to === to)
  return [
    ...(declared ? [] : [`${runMachine.name} v${runMachine.version} has no ${from} → ${to} on ${trigger}`]),
    ...(terminal === undefined && isEndOfRun(to) ? [`the run ends as ${to} and does not say how`] : []),
    ...(terminal !== undefined && !isEndOfRun(to) ? [`it says how the run ended, but ${to} is no end`] : []),
    ...(terminal !== undefined && terminal.status !== to ? [`it ends as ${terminal.status} and goes to ${to}`] : []),
    ...(updated_at === ts ? [] : [`it happened at ${updated_at} and says so at ${ts}`]),
  ]
}

/** A change that a named event has to explain, and none stands right before it. */
function unexplained(event: Change, before: FcmpEvent | undefined): readonly string[] {
  const missing = Object.entries(explains).flatMap(([type, fits]) =>
    fits(event) && before?.type !== type ? [`no ${type} stands right before it`] : [],
  )
  const { pending_interaction_id: pending } = event.data
  const strange = pending !== undefined && before?.type !== 'user.input.required'
  return strange ? [...missing, `it waits for ${pending}, and nobody asked`] : missing
}

/** An event that has to explain a change, and none comes right after it. Several questions may share one. */
function dangling(event: FcmpEvent, after: FcmpEvent | undefined): readonly string[] {
  const fits = explains[event.type]
  if (fits === undefined) return []
  if (event.type === 'user.input.required' && after?.type === event.type) return []
  return after?.type === 'conversation.state.changed' && fits(after) ? [] : ['no change that it explains comes next']
}
