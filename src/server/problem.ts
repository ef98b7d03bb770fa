import type { Fault } from '../faults/fault.ts'
import type { Problem } from '../wire/problem.ts'

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
    details: { ...details },
    request_id,
  }
}

function titleOf(code: string): string {
  const words = code.replaceAll('_', ' ')
  return `${words[0]?.toUpperCase()}${words.slice(1)}`
}
