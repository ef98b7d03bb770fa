import { shownStore } from '../surface/store-url.ts'
import type { Arguments } from './command.ts'
import type { Io } from './host.ts'

type Printing = Pick<Io, 'program' | 'err'>

/** How the next command would be typed: as this one was, and with the same places that it was given. */
function typed({ program }: Printing, { values }: Arguments, words: string): string {
  const places = (['server', 'store', 'config'] as const).flatMap((name) =>
    values[name] === undefined ? [] : [`--${name} ${shownStore(String(values[name]))}`],
  )
  return [program, words, ...places].join(' ')
}

/** What one would do next, on standard error; programs do not need it. */
export function next(io: Printing, args: Arguments, ...commands: readonly string[]): void {
  if (args.values.json) return
  for (const [i, words] of commands.entries()) io.err(`${i === 0 ? 'Next:' : '     '} ${typed(io, args, words)}`)
}
