import { type RunStatus, type RunTrigger, runMachine } from '../machines/run.ts'
import type { Payload } from '../runes/kinds.ts'
import type { Rune } from '../runes/rune.ts'
import { type FcmpData, type FcmpEvent, type FcmpType, fcmpVersion, type InputKind } from './fcmp-event.ts'
import { isoTime } from './iso-time.ts'

export interface Fcmp {
  /** The events that a rune gives rise to. Runes of other runs give rise to none. */
  tell(rune: Rune): readonly FcmpEvent[]
}

type Question = Payload<'interaction.opened'>

// biome-ignore format: tables are audited by eye, so their columns line up
const inputKinds: { readonly [K in Question['interaction_kind']]: InputKind } = {
  approval:      'confirm',
  ecs:           'fill_fields',
  question:      'open_text',
  question_pack: 'fill_fields',
  settlement:    'choose_one',
  notice:        'confirm',
}

/** The whole stream of a run so far. */
export function fcmpStream(runes: Iterable<Rune>, run_id: string): readonly FcmpEvent[] {
  const fcmp = createFcmp(run_id)
  return [...runes].flatMap((rune) => fcmp.tell(rune))
}

/**
 * The stream of one run, rune by rune from the first on. An event that explains
 * a state change is made together with it, out of the runes before, so that
 * nothing can come between the two. Only moves of the run change its state: a
 * reply that comes while a worker holds the run is recorded and shows here no
 * earlier than it moves something.
 */
export function createFcmp(run_id: string): Fcmp {
  const open = new Map<string, Question>()
  let seq = 0
  let attempt = 0
  let closed: { readonly interaction_id: string; readonly policy: string } = { interaction_id: '', policy: '' }
  let said = { message_id: run_id, text: '' }
  let is_over = false

  function event<T extends FcmpType>({ at }: Rune, type: T, data: FcmpData[T]): FcmpEvent {
    seq += 1
    const envelope = { protocol_version: fcmpVersion, run_id, seq, ts: isoTime(at), type, data, meta: { attempt } }
    return envelope as FcmpEvent
  }

  function moved(rune: Rune<'run.moved'>): readonly FcmpEvent[] {
    const to = rune.to as RunStatus
    const trigger = rune.trigger as RunTrigger
    const { terminal, resumable } = runMachine.states[to]
    if (trigger === 'turn.started') attempt = rune.payload.attempt ?? attempt + 1
    if (terminal) is_over = true

    const asked = resumable ? questions(rune) : []
    const pending_interaction_id = asked[0]?.interaction_id
    const change: FcmpData['conversation.state.changed'] = {
      from: rune.from as RunStatus,
      to,
      trigger,
      updated_at: isoTime(rune.at),
      ...(pending_interaction_id !== undefined && { pending_interaction_id }),
      ...(terminal && { terminal: ending(rune, to, trigger) }),
    }
    return [
      ...asked.map((question) => event(rune, 'user.input.required', question)),
      ...explanation(rune, trigger),
      event(rune, 'conversation.state.changed', change),
    ]
  }

  /** What the run waits for. Without any, the client still learns that it is its turn. */
  function questions({ payload }: Rune<'run.moved'>): readonly FcmpData['user.input.required'][] {
    const named = (payload.interaction_ids ?? []).filter((id) => open.has(id))
    const asked = (named.length > 0 ? named : [...open.keys()]).flatMap((interaction_id) => {
      const question = open.get(interaction_id)
      if (question === undefined) return []
      return [{ kind: inputKinds[question.interaction_kind], prompt: question.prompt, interaction_id }]
    })
    return asked.length > 0 ? asked : [{ kind: 'open_text', prompt: '' }]
  }

  function explanation(rune: Rune, trigger: RunTrigger): readonly FcmpEvent[] {
    const { interaction_id, policy } = closed
    const accepted_at = isoTime(rune.at)
    switch (trigger) {
      case 'interaction.reply.accepted':
        return [event(rune, trigger, { interaction_id, resolution_mode: 'user_reply', accepted_at })]
      case 'interaction.auto_decide.timeout':
        return [event(rune, trigger, { interaction_id, resolution_mode: 'auto_decide_timeout', policy, accepted_at })]
      case 'turn.succeeded':
        return [event(rune, 'assistant.message.final', said)]
      default:
        return []
    }
  }

  return {
    tell(rune) {
      if (rune.run_id !== run_id || is_over) return []
      const { interaction_id = '' } = rune
      switch (rune.kind) {
        case 'interaction.opened':
          open.set(interaction_id, rune.payload)
          return []
        case 'interaction.answered':
        case 'interaction.expired':
        case 'interaction.withdrawn':
          open.delete(interaction_id)
          closed = { interaction_id, policy: rune.kind === 'interaction.expired' ? rune.payload.effect : '' }
          return []
        case 'turn.completed':
          said = { message_id: rune.turn_id ?? run_id, text: rune.payload.final_output }
          return []
        case 'turn.error':
          return [event(rune, 'diagnostic.warning', { code: rune.payload.error_type, message: rune.payload.message })]
        case 'run.misaligned': {
          const message = 'Another number of contracts waits than the checkpoint expects.'
          return [event(rune, 'diagnostic.warning', { code: 'resume_misaligned', message, detail: rune.payload })]
        }
        case 'run.moved':
          return moved(rune)
        default:
          return []
      }
    },
  }
}

function ending({ payload }: Rune<'run.moved'>, status: RunStatus, trigger: RunTrigger) {
  const { error_code: code, message } = payload
  if (code === undefined) return { status }
  const category = trigger.startsWith('restart.') ? ('recovery' as const) : ('run' as const)
  return { status, error: { category, code, ...(message !== undefined && { message }) } }
}
