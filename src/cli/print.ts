import { shownStore } from '../kernel/printable.ts'
import { answeredBy } from '../observation/describe.ts'
import type { Io } from './host.ts'
import type { clientOptions, Values } from './options.ts'

type Placed = { readonly values: Values<typeof clientOptions> }

/** Suggests the next commands on standard error, with the places that this one was given. Programs do not get it. */
export function next(io: Pick<Io, 'program' | 'err'>, { values }: Placed, ...commands: readonly string[]): void {
  if (values.json) return
  const places = (['server', 'store', 'config'] as const).flatMap((name) =>
    values[name] === undefined ? [] : [`--${name} ${shownStore(values[name])}`],
  )
  for (const [i, words] of commands.entries())
    io.err(`${i === 0 ? 'Next:' : '     '} ${[io.program, words, ...places].join(' ')}`)
}

/** Reports progress once a second while the work lasts; without a terminal, every ten seconds. */
export async function busy<T>(io: Io, what: string | (() => string), work: () => Promise<T>): Promise<T> {
  let seconds = 0
  const stop = io.host.everySecond(() => {
    seconds += 1
    if (io.terminal.isInteractive || seconds % 10 === 0)
      io.err(`… ${typeof what === 'string' ? what : what()} (${seconds} s)`)
  })
  try {
    return await work()
  } finally {
    stop()
  }
}

type Asked = { interaction_id: string; interaction_kind: string; coordination_id?: string | null }

/** The command that answers a question of this kind. */
export function verbFor({ interaction_id, interaction_kind, coordination_id }: Asked): string {
  // The answers of a question pack are named, so the plan shows its questions first.
  if (interaction_kind === 'question_pack')
    return coordination_id == null ? `inbox ${interaction_id}` : `plan show ${coordination_id}`
  return answeredBy(interaction_kind, interaction_id)
}
