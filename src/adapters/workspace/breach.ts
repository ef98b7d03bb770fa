import { DidNotHappen } from '../../runtime/tools/tool.ts'

/** Something tried to leave the place it was given, and was stopped. The runtime records it as a violation, not as a failure. */
export function breach(message: string): Error {
  return Object.assign(new DidNotHappen(message), { sandbox_violation: true })
}
