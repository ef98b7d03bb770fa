import type { RunStatus, RunTrigger } from '../machines/run.ts'

/**
 * FCMP: what a conversational client follows of one run. The names and the time
 * format (ISO 8601) are the protocol's.
 */
export type FcmpEvent<T extends FcmpType = FcmpType> = {
  [K in T]: {
    readonly protocol_version: typeof fcmpVersion
    readonly run_id: string
    /** From 1, without gaps, over all attempts of the run. */
    readonly seq: number
    readonly ts: string
    readonly type: K
    readonly data: FcmpData[K]
    /** How often the run had been dispatched; 0 before the first time. */
    readonly meta: { readonly attempt: number }
  }
}[T]

export const fcmpVersion = 'fcmp/1.0'

export type FcmpType = keyof FcmpData

export interface FcmpData {
  'conversation.state.changed': {
    readonly from: RunStatus
    readonly to: RunStatus
    readonly trigger: RunTrigger
    readonly updated_at: string
    /** The first of the questions that it waits for. */
    readonly pending_interaction_id?: string
    readonly terminal?: Terminal
  }
  'interaction.reply.accepted': {
    readonly interaction_id: string
    readonly resolution_mode: 'user_reply'
    readonly accepted_at: string
  }
  'interaction.auto_decide.timeout': {
    readonly interaction_id: string
    readonly resolution_mode: 'auto_decide_timeout'
    /** What silence did. */
    readonly policy: string
    readonly accepted_at: string
  }
  'user.input.required': {
    /** How to show it; never what to do with it. */
    readonly kind: InputKind
    readonly prompt: string
    readonly interaction_id?: string
  }
  'assistant.message.final': { readonly message_id: string; readonly text: string }
  'diagnostic.warning': {
    readonly code: string
    readonly message: string
    readonly detail?: { readonly expected: readonly string[]; readonly found: readonly string[] }
  }
}

export type InputKind = 'choose_one' | 'confirm' | 'fill_fields' | 'open_text'

export interface Terminal {
  readonly status: RunStatus
  readonly error?: { readonly category: 'run' | 'recovery'; readonly code: string; readonly message?: string }
}
