import { isoTime } from '../kernel/instant.ts'
import { type EndOf, isTerminal } from '../kernel/machine.ts'
import { type RunStatus, type RunTrigger, runMachine } from '../machines/run.ts'
import type { Payload } from '../runes/kinds.ts'
import type { Rune } from '../runes/rune.ts'
import { type FcmpData, type FcmpEvent, type FcmpType, fcmpVersion, type InputKind } from '../wire/fcmp.ts'
import { notPublic, visible } from './visible.ts'

type Question = Payload<'interaction.opened'>
type Closing = 'interaction.reply.accepted' | 'interaction.auto_decide.timeout' | 'interaction.closed'

// biome-ignore format: tables are audited by eye, so their columns line up
const inputKinds: { readonly [K in Question['interaction_kind']]: InputKind } = {
  approval:      'confirm',
  ecs:           'fill_fields',
  question:      'open_text',
  question_pack: 'fill_fields',
  settlement:    'choose_one',
  notice:        'confirm',
}

/** A form has fields; a confirmation and a display have none. */
function inputKindOf({ interaction_kind, request }: Question): InputKind {
  const isShown = interaction_kind === 'ecs' && (request.type === 'confirmation' || request.type === 'display')
  return isShown ? 'confirm' : inputKinds[interaction_kind]
}

/** The whole stream of a run so far. */
export function fcmpStream(runes: Iterable<Rune>, run_id: string): readonly FcmpEvent[] {
  const fcmp = createFcmp(run_id)
  return [...runes].flatMap((rune) => fcmp.fold(rune))
}

/**
 * The stream of one run, rune by rune from the first on. The stream opens a question when the run begins to wait for
 * it, or at once if a tool at work asks it. It closes every question that it opened: with the rune that ends the
 * question, or at the latest when the run ends. Of a run that is not public it has the moves, without content.
 */
export function createFcmp(run_id: string) {
  /** Contracts whose call is under way. */
  const atWork = new Set<string>()
  const open = new Map<string, Question>()
  /** Questions that the stream opened and has not closed. */
  const asked = new Set<string>()
  let engine = notPublic
  let seq = 0
  let attempt = 0
  let time = 0
  let final: FcmpData<'assistant.message.final'> = { message_id: run_id }
  let is_over = false

  /** A clock that is set back does not turn back the time of the stream. */
  function ts({ at }: Rune): string {
    if (at > time) time = at
    return isoTime(time)
  }

  function event<T extends FcmpType>(rune: Rune, type: T, data: FcmpData<T>): FcmpEvent {
    seq += 1
    const meta = { attempt: attempt === 0 ? 1 : attempt }
    const made = { protocol_version: fcmpVersion, run_id, seq, ts: ts(rune), engine, type, data, meta }
    return made as FcmpEvent
  }

  function ask(rune: Rune, interaction_id: string, question: Question): FcmpEvent {
    asked.add(interaction_id)
    const kind = inputKindOf(question)
    const prompt = orElse(question.prompt, 'An answer is needed.')
    return event(rune, 'user.input.required', { kind, prompt, interaction_id })
  }

  /** A question ends. If the stream did not open it, the stream does not close it. */
  function close<T extends Closing>(rune: Rune, type: T, how: () => Omit<FcmpData<T>, 'interaction_id'>) {
    const { interaction_id = '' } = rune
    open.delete(interaction_id)
    return asked.delete(interaction_id) ? [event(rune, type, { interaction_id, ...how() } as FcmpData<T>)] : []
  }

  function moved(rune: Rune<'run.moved'>): readonly FcmpEvent[] {
    const to = rune.to as RunStatus
    const trigger = rune.trigger as RunTrigger
    const { resumable } = runMachine.states[to]
    const terminal = isTerminal(runMachine, to)
    if (trigger === 'turn.started') attempt = rune.payload.attempt ?? attempt + 1

    const asked = resumable ? questions(rune) : []
    const first = asked[0]
    const pending_interaction_id = first?.type === 'user.input.required' ? first.data.interaction_id : undefined
    const before = [
      ...asked,
      ...(terminal ? left(rune) : []),
      ...(trigger === 'turn.succeeded' ? [event(rune, 'assistant.message.final', final)] : []),
    ]
    if (terminal) is_over = true
    return [
      ...before,
      event(rune, 'conversation.state.changed', {
        from: rune.from as RunStatus,
        to,
        trigger: trigger as FcmpData<'conversation.state.changed'>['trigger'],
        updated_at: ts(rune),
        ...(pending_interaction_id !== undefined && { pending_interaction_id }),
        ...(terminal && { terminal: ending(rune, to, trigger) }),
      }),
    ]
  }

  /** The questions of a waiting run. If none is public, the client still learns that the run waits. */
  function questions(rune: Rune<'run.moved'>): readonly FcmpEvent[] {
    const named = (rune.payload.interaction_ids ?? []).filter((id) => open.has(id))
    const asked = (named.length > 0 ? named : [...open.keys()]).flatMap((interaction_id) => {
      const question = open.get(interaction_id)
      return question === undefined ? [] : [ask(rune, interaction_id, question)]
    })
    return asked.length > 0 ? asked : [event(rune, 'user.input.required', { kind: 'open_text', prompt: notPublic })]
  }

  /** Questions that outlive the run. The stream ends before their outcome is known. */
  function left(rune: Rune): readonly FcmpEvent[] {
    const reason = 'The run is over; the question stays in the inbox.'
    const how = { resolution_mode: 'left_to_inbox' as const, reason, closed_at: ts(rune) }
    return [...asked].map((interaction_id) => event(rune, 'interaction.closed', { interaction_id, ...how }))
  }

  return {
    /** The events that a rune gives rise to. Runes of other runs give rise to none. */
    fold(recorded: Rune): readonly FcmpEvent[] {
      if (recorded.run_id !== run_id || is_over) return []
      const rune = visible(recorded)
      // Of a question that is not public only the wait is shown: a reader of this stream may not answer it by its id.
      if (rune === undefined || (rune.machine === 'interaction' && rune.visibility !== 'public')) return []
      switch (rune.kind) {
        case 'run.submitted':
          engine = orElse(rune.payload.agent, notPublic)
          return []
        case 'contract.moved':
          if (rune.to === 'running') atWork.add(rune.execution_id ?? '')
          else atWork.delete(rune.execution_id ?? '')
          return []
        case 'interaction.opened': {
          const { interaction_id = '', execution_id = '', payload } = rune
          open.set(interaction_id, payload)
          return atWork.has(execution_id) ? [ask(rune, interaction_id, payload)] : []
        }
        case 'interaction.answered':
          return close(rune, 'interaction.reply.accepted', () => ({
            resolution_mode: 'user_reply',
            accepted_at: ts(rune),
          }))
        case 'interaction.expired': {
          const how = { resolution_mode: 'auto_decide_timeout' as const, policy: rune.payload.effect }
          return close(rune, 'interaction.auto_decide.timeout', () => ({ ...how, accepted_at: ts(rune) }))
        }
        case 'interaction.withdrawn': {
          const how = { resolution_mode: 'withdrawn' as const, ...ifGiven('reason', rune.payload.reason) }
          return close(rune, 'interaction.closed', () => ({ ...how, closed_at: ts(rune) }))
        }
        case 'turn.completed':
          final = { message_id: rune.turn_id ?? run_id, ...ifGiven('text', rune.payload.final_output) }
          return []
        case 'turn.error': {
          const code = orElse(rune.payload.error_type, 'turn_error')
          return [event(rune, 'diagnostic.warning', { code, ...ifGiven('message', rune.payload.message) })]
        }
        case 'run.misaligned': {
          const { expected, found } = rune.payload
          const message = 'The number of waiting contracts is not the expected one.'
          const detail = `Expected: ${list(expected)}. Found: ${list(found)}.`
          return [event(rune, 'diagnostic.warning', { code: 'resume_misaligned', message, detail })]
        }
        case 'run.moved':
          return moved(rune)
        default:
          return []
      }
    },
  }
}

const list = (ids: readonly string[]) => (ids.length === 0 ? 'none' : ids.join(', '))

const orElse = (text: string, otherwise: string) => (text === '' ? otherwise : text)

/** A field with a text, or no field. */
function ifGiven<K extends string>(name: K, text: string | undefined) {
  return text === undefined || text === '' ? {} : ({ [name]: text } as { readonly [N in K]: string })
}

function ending({ payload }: Rune<'run.moved'>, status: EndOf<typeof runMachine>, trigger: RunTrigger) {
  if (status !== 'failed') return { status }
  const category = trigger === 'restart.reconcile_failed' ? ('recovery' as const) : ('run' as const)
  const code = orElse(payload.error_code ?? '', 'RUN_FAILED')
  return { status, error: { category, code, ...ifGiven('message', payload.message) } }
}
