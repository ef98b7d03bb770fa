import * as z from 'zod'
import { stateNames } from '../kernel/machine.ts'
import { interactionMachine } from '../machines/interaction.ts'
import { interactionKind, jsonObject, jsonValue, kinds } from '../runes/kinds.ts'
import { visibilities } from '../runes/rune.ts'
import { id, pageQuery, reason, repliedBy } from './common.ts'
import { snapshotShape } from './contract.ts'
import { endpoint } from './endpoint.ts'

const asked = {
  interaction_id: z.string(),
  session_id: z.string(),
  run_id: z.string().nullable(),
  call_id: z.string().nullable(),
  /** The contract that waits for the answer. */
  execution_id: z.string().nullable(),
  /** The subject that asked, if it was not a run. */
  coordination_id: z.string().nullable(),
  goal_id: z.string().nullable(),
  task_id: z.string().nullable(),
  interaction_kind: interactionKind,
}

/** A question with everything that a person must see before they answer, and its outcome. No text is cut. */
export const interactionShape = z.object({
  ...asked,
  agent: z.string().nullable(),
  state: z.enum(stateNames(interactionMachine)),
  /** The topic or the reason of the question. For people: characters that hide or turn text around are escaped here. */
  prompt: z.string(),
  action_summary: z.string().nullable(),
  tool: z.string().nullable(),
  /** The complete arguments, in canonical JSON: this text is what a digest was taken of. Show it with `printable`. */
  arguments: jsonValue.nullable(),
  canonical_arguments: z.string().nullable(),
  irreversible: z.boolean().nullable(),
  /** The digest that binds an approval: tool, definition, arguments, policy. Equal calls have the same digest. */
  digest: z.string().nullable(),
  definition_sha256: z.string().nullable(),
  /** The shape of the answer. */
  request: jsonObject,
  evidence: z.array(jsonValue).readonly(),
  opened_at: z.int(),
  deadline: z.int().nullable(),
  on_silence: kinds['interaction.opened'].shape.on_silence,
  /** The effect of silence, in a sentence. */
  silence: z.string(),
  closed_at: z.int().nullable(),
  closed_by: z.string().nullable(),
  reply: jsonValue.nullable(),
})
/** A question with all that a person has to see before they answer. */
export type InteractionCard = z.infer<typeof interactionShape>

/** A question in the inbox. */
const openInteractionShape = z.object({
  ...asked,
  title: z.string().nullable(),
  prompt: z.string(),
  deadline: z.int().nullable(),
  opened_at: z.int(),
  /** The visibility of the run that asks. A prompt that is not public needs the scope `approve`. */
  visibility: z.enum(visibilities),
})

/** A call whose process is gone. It becomes a question, unless a probe answers it, when a process that works takes its run. */
const unsettledShape = z.object({
  session_id: z.string(),
  title: z.string().nullable(),
  run_id: z.string(),
  call_id: z.string(),
  execution_id: z.string(),
  action_summary: z.string(),
  irreversible: z.boolean(),
  since: z.int(),
  says: z.string(),
})
/** A call in the inbox whose process is gone. */
export type UnsettledItem = z.infer<typeof unsettledShape>

/** A question in the inbox. */
export type InboxItem = z.infer<typeof openInteractionShape>

/** The answers to a settlement: the action happened, it did not, or the person leaves the question open. */
export const settlementOutcome = z.enum(['happened', 'did_not', 'leave'])

/** The answer of a person about an action whose outcome is unknown. */
export type SettlementOutcome = z.infer<typeof settlementOutcome>

/** The effect of an answer. */
export const repliedShape = z.object({
  interaction_id: z.string(),
  session_id: z.string(),
  run_id: z.string().nullable(),
  is_repeated: z.boolean(),
  /** The contract as it was right before; null where no call asked, and for a repeated reply. */
  snapshot: snapshotShape.nullable(),
  /** As many contracts of the run waited as were expected. If not, a warning is on record. */
  is_aligned: z.boolean(),
})

/** The contracts that the client expects to be waiting; another number is a warning (OB-09). */
export const expectedWaiting = z.array(id).max(1_000).optional()

/** The answers to a request for approval. */
export const approvalDecisions = ['approve', 'deny'] as const

/** One of the answers to a request for approval. */
export type ApprovalDecision = (typeof approvalDecisions)[number]

/** The replies that each kind of interaction accepts. */
export const replyShapes = {
  approval: z.strictObject({
    decision: z.enum(approvalDecisions),
    reason: z.string().optional(),
    /** The digest that the interaction shows. It is required for an irreversible action. */
    digest: z.string().optional(),
  }),
  ecs: z.strictObject({
    action: z.enum(['approve', 'edit', 'reject']),
    data: jsonObject.optional(),
    reason: z.string().optional(),
  }),
  question: z.strictObject({ answer: z.string().trim().min(1, 'An answer says something.') }),
  notice: z.strictObject({ acknowledged: z.literal(true), note: z.string().optional() }),
  settlement: z
    .strictObject({
      outcome: settlementOutcome,
      result: jsonValue.optional(),
      reason: z.string().optional(),
    })
    .refine(({ outcome, result }) => result === undefined || outcome === 'happened', {
      path: ['result'],
      message: '`result` is allowed only with "happened".',
    }),
}

/** A kind of interaction that takes replies. */
export type ReplyKind = keyof typeof replyShapes
const signed = { replied_by: repliedBy, expected_waiting: expectedWaiting }

/** The endpoints of the inbox. */
export const interactionEndpoints = {
  listInbox: endpoint('list_inbox', 'GET /api/inbox', {
    query: z.strictObject(pageQuery),
    returns: z.object({
      items: z.array(openInteractionShape),
      next_cursor: z.string().nullable(),
      unsettled: z.array(unsettledShape),
    }),
  }),
  getInteraction: endpoint('get_interaction', 'GET /api/interactions/{interaction_id}', { returns: interactionShape }),
  approve: endpoint('approve', 'POST /api/interactions/{interaction_id}/approve', {
    body: z.strictObject({ digest: z.string().max(200).optional(), ...signed }),
    returns: repliedShape,
  }),
  deny: endpoint('deny', 'POST /api/interactions/{interaction_id}/deny', {
    body: z.strictObject({ reason, ...signed }),
    returns: repliedShape,
  }),
  answer: endpoint('answer', 'POST /api/interactions/{interaction_id}/answer', {
    body: z.strictObject({
      /** For a form: `{ action: approve | edit | reject, data }`; for a question: `{ answer }`. */
      reply: jsonValue,
      ...signed,
    }),
    returns: repliedShape,
  }),
  settle: endpoint('settle', 'POST /api/interactions/{interaction_id}/settle', {
    body: z.strictObject({ outcome: settlementOutcome, result: jsonValue.optional(), reason, ...signed }),
    returns: repliedShape,
  }),
}
