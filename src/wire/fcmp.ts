import * as z from 'zod'
import { type Problem, pointerTo } from '../kernel/json.ts'
import { stateNames } from '../kernel/machine.ts'
import { type RunTrigger, runMachine } from '../machines/run.ts'
import { kinds } from '../runes/kinds.ts'

/**
 * FCMP: the conversation of one run, as clients follow it. Types, `checkFcmp`, OpenAPI and `docs/streams.md` come from
 * it. Names and times are those of the protocol; `interaction.closed` is our addition.
 */
export const fcmpVersion = 'fcmp/1.0'

const text = z.string().min(1, 'It is empty; a text says something, or its field is left out.')
const instant = z.iso.datetime({ precision: 3, error: 'It is not an instant like 2026-01-31T23:59:59.999Z (UTC).' })
const status = z.enum(stateNames(runMachine))

/** A request is a move of the run, too, and changes nothing that a client could see. */
export const changes = runMachine.transitions.filter((t) => t.rune === 'run.moved')
const triggers: readonly RunTrigger[] = [...new Set(changes.map((t) => t.on))]

const envelope = {
  protocol_version: z.literal(fcmpVersion),
  run_id: text,
  seq: z.int().positive().describe('From 1, without gaps, over all attempts of the run.'),
  ts: instant.describe('When it was recorded. It never goes back.'),
  engine: text.describe('The name of the agent that does the work.'),
}
const meta = z.strictObject({
  attempt: z.int().positive().describe('How often a worker has taken the run; 1 before the first time, too.'),
})

/** One type of event: when it comes, and what its `data` holds. */
function event<T extends string, S extends z.ZodRawShape>(type: T, when: string, data: S) {
  return z.strictObject({ ...envelope, type: z.literal(type), data: z.strictObject(data), meta }).describe(when)
}

const terminal = z.discriminatedUnion('status', [
  z.strictObject({ status: z.literal('succeeded') }),
  z.strictObject({ status: z.literal('canceled') }),
  z.strictObject({
    status: z.literal('failed'),
    error: z.strictObject({ category: z.enum(['run', 'recovery']), code: text, message: text.optional() }),
  }),
])

const inputKinds = ['choose_one', 'confirm', 'fill_fields', 'open_text', 'upload_files', 'risk_ack'] as const

/** Every event of the protocol. */
export const fcmpEvent = z.discriminatedUnion(
  'type',
  [
    event(
      'conversation.state.changed',
      'The run moves. Every move has one, and the stream ends with the one that has `terminal`.',
      {
        from: status,
        to: status,
        trigger: z.enum(triggers),
        updated_at: instant.describe('The `ts` of the event.'),
        pending_interaction_id: text
          .optional()
          .describe('On a change to `waiting_user`: the first of the questions that the run waits for.'),
        terminal: terminal.optional().describe('On the last change: how the run ended. A failure says why.'),
      },
    ),
    event(
      'user.input.required',
      'A question is open. The questions that a run waits for come right before the change to `waiting_user`, also when it waits again or still waits after a restart. A question that a tool asks in the middle of its work comes when it is asked, and the run stays `running`.',
      {
        kind: z.enum(inputKinds).describe('How to show it; never what to do with it.'),
        prompt: text,
        interaction_id: text.optional().describe('What to answer to. Left out if the question is not public.'),
      },
    ),
    event(
      'interaction.reply.accepted',
      'A person answered. If the run was waiting, the change to `queued` comes next; if it was queued or running, no change follows.',
      {
        interaction_id: text,
        resolution_mode: z.literal('user_reply'),
        accepted_at: instant.describe('The `ts` of the event.'),
      },
    ),
    event(
      'interaction.auto_decide.timeout',
      'The deadline of a question passed first. What follows is as for a reply.',
      {
        interaction_id: text,
        resolution_mode: z.literal('auto_decide_timeout'),
        policy: kinds['interaction.expired'].shape.effect.describe('What silence did.'),
        accepted_at: instant.describe('The `ts` of the event.'),
      },
    ),
    event(
      'interaction.closed',
      'A question ends without answer and deadline. `withdrawn`: its subject is over. `left_to_inbox`: the run ends, and the question whether an action happened stays in the inbox.',
      {
        interaction_id: text,
        resolution_mode: z.enum(['withdrawn', 'left_to_inbox']),
        reason: text.optional(),
        closed_at: instant.describe('The `ts` of the event.'),
      },
    ),
    event('assistant.message.final', 'Right before the change to `succeeded`.', {
      message_id: text.describe('The turn that said it, or the run if no turn did.'),
      text: text.optional().describe('Left out if the model said nothing at the end.'),
    }),
    event(
      'diagnostic.warning',
      'A turn broke, or a reply found another number of waiting contracts than expected. It changes no state.',
      { code: text, message: text.optional(), detail: text.optional() },
    ),
  ],
  { error: ({ code }) => (code === 'invalid_union' ? `It is not one of ${names()}.` : undefined) },
)

const names = (): string => fcmpEvent.options.map(({ shape }) => shape.type.value).join(', ')

/** The name of a type of event. */
export type FcmpType = z.infer<typeof fcmpEvent>['type']
/** An event, of any type or of one. */
export type FcmpEvent<T extends FcmpType = FcmpType> = Extract<z.infer<typeof fcmpEvent>, { readonly type: T }>
/** The data of one type of event. */
export type FcmpData<T extends FcmpType> = FcmpEvent<T>['data']
/** How a question is shown. */
export type InputKind = (typeof inputKinds)[number]

/** An event, or what is wrong with its fields. */
export function readFcmpEvent(
  given: unknown,
): { readonly event: FcmpEvent } | { readonly problems: readonly Problem[] } {
  const read = fcmpEvent.safeParse(given)
  if (read.success) return { event: read.data }
  return { problems: read.error.issues.map(({ path, message }) => ({ pointer: pointerTo(path), problem: message })) }
}
