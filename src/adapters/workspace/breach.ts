/** Something tried to leave the place it was given. The runtime records it as a violation, not as a failure. */
export function breach(message: string): Error {
  return Object.assign(new Error(message), { sandbox_violation: true })
}
