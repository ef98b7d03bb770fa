/**
 * Tells of promises that were rejected and that no code waits for: a tool may leave one behind. Without this, Node ends
 * the process, and the outcome of every other call that is under way is unknown.
 */
export function hearStrayRejections(tell: (reason: unknown) => void): () => void {
  process.on('unhandledRejection', tell)
  return () => void process.off('unhandledRejection', tell)
}
