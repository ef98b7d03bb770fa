import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'

/** Nothing has reached the server when one of these is thrown. */
const neverSent: readonly string[] = [
  SdkErrorCode.NotConnected,
  SdkErrorCode.NotInitialized,
  SdkErrorCode.MethodNotSupportedByProtocolVersion,
]
const neverConnected = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']

/**
 * What a call that brought no result comes to. A server that said no is
 * believed, and so is a request that never left. Of everything else nobody
 * knows whether it was carried out: the server may have died after doing it.
 */
export function failureOf(thrown: unknown, server: string): Error {
  if (thrown instanceof ProtocolError) return marked(`${thrown.message} (code ${thrown.code})`, 'protocol')
  if (thrown instanceof SdkHttpError && thrown.status >= 400 && thrown.status < 500)
    return marked(`${server} answered ${thrown.status}: ${thrown.message}`, 'protocol')
  const isUnsent =
    (thrown instanceof SdkError && neverSent.includes(thrown.code)) || neverConnected.includes(codeOf(thrown))
  if (isUnsent) return marked(`${server} could not be reached: ${messageOf(thrown)}`, 'unavailable')
  const lost = marked(`The connection to ${server} was lost during the call: ${messageOf(thrown)}`, 'connection_lost')
  return Object.assign(lost, { outcome_unknown: true })
}

export function marked(message: string, error_kind: string): Error {
  return Object.assign(new Error(message), { error_kind })
}

export function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  const messages: string[] = []
  // What really happened stands at the end of the causes.
  for (let each: unknown = thrown, deep = 0; each instanceof Error && deep < 4; each = each.cause, deep++) {
    const { message } = each
    if (message !== '' && !messages.some((before) => before.includes(message))) messages.push(message)
  }
  return messages.join(': ')
}

/** fetch puts the reason into the cause. */
function codeOf(thrown: unknown): string {
  const { code, cause } = Object(thrown)
  return String(Object(cause).code ?? code)
}
