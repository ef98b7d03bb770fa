import { readThrown } from '../../runtime/thrown.ts'
import { DidNotHappen } from '../../runtime/tools/tool.ts'
import type { Sdk } from './sdk.ts'

type Code = keyof Sdk['SdkErrorCode']

/** Nothing has reached the server when one of these is thrown. */
const neverSent: readonly Code[] = ['NotConnected', 'NotInitialized', 'MethodNotSupportedByProtocolVersion']
const neverConnected = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']

/** Answers of a gateway while the server may continue: the request ran out of time, or its client was gone. */
const answeredLate = [408, 499]
const unreadable: readonly Code[] = ['InvalidResult', 'UnsupportedResultType']

/** The outcome of a call without a result: a refusal or an unsent request is a failure, all else is unknown. */
export function failureOf(thrown: unknown, server: string, sdk: Sdk): Error {
  const { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } = sdk
  const isOneOf = (codes: readonly Code[]) =>
    thrown instanceof SdkError && codes.some((code) => SdkErrorCode[code] === thrown.code)
  if (thrown instanceof ProtocolError) return marked(`${thrown.message} (code ${thrown.code})`, 'protocol', thrown)
  if (thrown instanceof SdkHttpError && isRefusal(thrown.status))
    return marked(`${server} answered ${thrown.status}: ${thrown.message}`, 'protocol', thrown)
  const isUnsent = isOneOf(neverSent) || neverConnected.includes(codeOf(thrown))
  if (isUnsent) return marked(`${server} could not be reached: ${messageOf(thrown)}`, 'unavailable', thrown)
  if (isOneOf(unreadable))
    return unclear(`${server} answered with what cannot be read: ${messageOf(thrown)}`, 'unreadable_answer', thrown)
  const lost = `The connection to ${server} was lost during the call: ${messageOf(thrown)}`
  return unclear(lost, 'connection_lost', thrown)
}

const isRefusal = (status: number) => status >= 400 && status < 500 && !answeredLate.includes(status)

/** The call has failed: the server refused it, or never got it. */
export function marked(message: string, error_kind: string, cause?: unknown): Error {
  return Object.assign(new DidNotHappen(message, { cause }), { error_kind })
}

function unclear(message: string, error_kind: string, cause: unknown): Error {
  return Object.assign(new Error(message, { cause }), { error_kind, outcomeUnknown: true })
}

/** The messages of an error and its causes, in one line. */
export function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return readThrown(thrown).message
  const messages: string[] = []
  for (let each: unknown = thrown, deep = 0; each instanceof Error && deep < 4; each = each.cause, deep++) {
    const { message } = readThrown(each)
    if (message !== '' && !messages.some((before) => before.includes(message))) messages.push(message)
  }
  return messages.join(': ')
}

function codeOf(thrown: unknown): string {
  const { code, cause } = Object(thrown)
  const found = Object(cause).code ?? code
  return typeof found === 'string' ? found : ''
}
