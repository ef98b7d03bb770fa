import { isoTime } from '../../kernel/instant.ts'
import type { Rune } from '../../runes/rune.ts'
import type { Command } from '../command.ts'
import { untilStopped } from '../until-stopped.ts'
import { whereOf, whereOptions } from '../with-client.ts'
import { take } from '../with-store.ts'

export const workerCommand: Command = {
  name: 'worker',
  usage: 'statewright worker [--config FILE] [--store URL]',
  summary: 'Work on the runs of a store until told to stop. On PostgreSQL, as many workers as you like share them.',
  options: {
    config: { type: 'string', summary: 'what to work with; else ./statewright.config.ts' },
    store: whereOptions.store,
  },

  async run(args, { host, out, err }) {
    take(this, args, 0)
    const { config, store } = whereOf(args)
    const tell = (rune: Rune) => {
      const line = lineOf(rune)
      if (line !== undefined) out(line)
    }
    const worker = await host.startWorker({ config, store }, { tell, warn: err })
    const { agents, max_concurrent_runs, is_shared } = worker
    out(`Working with ${agents.join(', ')}: at most ${max_concurrent_runs} runs at once.`)
    if (!is_shared) out('Nobody else can work on this store meanwhile.')

    return untilStopped(worker, { host, out, err })
  },
}

/** Only where runs stand: what they say and do is in the log, for those who may read it. */
function lineOf(rune: Rune): string | undefined {
  if (rune.kind !== 'run.moved' && rune.kind !== 'run.submitted') return undefined
  const when = isoTime(rune.at)
  if (rune.kind === 'run.submitted') return `${when} ${rune.run_id} of ${rune.session_id}: submitted`
  const { attempt, error_code } = rune.payload
  const more = [attempt === undefined ? '' : `, attempt ${attempt}`, error_code === undefined ? '' : `, ${error_code}`]
  return `${when} ${rune.run_id} of ${rune.session_id}: ${rune.from} → ${rune.to} (${rune.trigger})${more.join('')}`
}
