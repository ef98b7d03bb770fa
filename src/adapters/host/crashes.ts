import { type Culprit, culpritNow, outsideCalls } from '../../runtime/scopes.ts'

/** How long the process may live on to record the call whose error ends it. */
const record_ms = 5_000

type Crash = { readonly thrown: unknown; readonly culprit: Culprit }

/** The default end of the process: as Node ends it, with the error as it was thrown. */
let die = ({ thrown }: Crash): void =>
  outsideCalls(() => {
    setImmediate(() => {
      throw thrown
    })
  })

/** Replaces how the process ends: our own program prints its own message. */
export function dieBy(way: (crash: Crash) => void): void {
  die = way
}

let watchers = 0

/** Records an uncaught error with its tool call; then the process ends as it would have. Returns `unsubscribe`. */
export function watchCrashes(): () => void {
  if (watchers++ === 0) process.on('uncaughtExceptionMonitor', attribute)
  let isOver = false
  return () => {
    if (!isOver && --watchers === 0) process.off('uncaughtExceptionMonitor', attribute)
    isOver = true
  }
}

function attribute(thrown: unknown): void {
  const culprit = culpritNow()
  if (culprit === undefined) return
  const isHandled = process.listenerCount('uncaughtException') > 0 || process.hasUncaughtExceptionCaptureCallback()
  const recorded = outsideCalls(() =>
    culprit.crash(thrown, isHandled ? 'the process goes on' : 'the process ends'),
  ).catch(() => {})
  if (isHandled) return
  // Node looks for this listener next. Without one, the process would be gone before anything is recorded.
  process.once('uncaughtException', () => {})
  const late = new Promise<void>((resolve) => setTimeout(resolve, record_ms))
  void Promise.race([recorded, late]).then(() => die({ thrown, culprit }))
}

/** Reports unhandled rejections that a tool may leave. Without this, Node ends the process. */
export function watchStrayRejections(report: (reason: unknown) => void): () => void {
  process.on('unhandledRejection', report)
  return () => void process.off('unhandledRejection', report)
}
