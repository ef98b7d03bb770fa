import type { Io } from './host.ts'

/** Says once a second what is going on, while it goes on; what is over sooner needs no word. */
export async function busy<T>(io: Io, what: () => string, work: () => Promise<T>): Promise<T> {
  let seconds = 0
  const stop = io.host.everySecond(() => {
    seconds += 1
    // Where nobody sits, ten times less often.
    if (io.terminal.isInteractive || seconds % 10 === 0) io.err(`… ${what()} (${seconds} s)`)
  })
  try {
    return await work()
  } finally {
    stop()
  }
}
