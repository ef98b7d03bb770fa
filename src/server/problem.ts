import type { Fault } from '../faults/fault.ts'

/** A refusal as RFC 9457 has it. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  /** What is, what was asked, and what would be accepted. */
  readonly detail: string
  readonly code: string
  readonly retry: Fault['retry']
  /** Whether anything was changed. */
  readonly outcome: 'not_applied' | 'unknown'
  readonly details: object
  readonly request_id: string
}

export function problemOf(fault: Fault, request_id: string): Problem {
  const { code, http, message, retry, details } = fault
  const outcome = (details as { outcome?: unknown }).outcome === 'unknown' ? 'unknown' : 'not_applied'
  return {
    type: `urn:statewright:problem:${code.replaceAll('_', '-')}`,
    title: titleOf(code),
    status: http,
    detail: message,
    code,
    retry,
    outcome,
    details,
    request_id,
  }
}

function titleOf(code: string): string {
  const words = code.replaceAll('_', ' ')
  return `${words[0]?.toUpperCase()}${words.slice(1)}`
}

export const problemType = 'application/problem+json; charset=utf-8'
