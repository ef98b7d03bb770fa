import type { Finding } from '../../surface/wiring.ts'
import type { Command } from '../command.ts'
import { exits } from '../exits.ts'
import { columns } from '../render/columns.ts'
import { paintFor } from '../render/paint.ts'
import { safeJson, safeLine } from '../render/safe.ts'
import { jsonOption, whereOf, whereOptions } from '../with-client.ts'
import { take } from '../with-store.ts'

export const doctorCommand: Command = {
  name: 'doctor',
  usage: 'statewright doctor [--store URL] [--config FILE] [--server URL] [--json]',
  summary: 'Look at the machine, the store and the config, and say what would have to be mended and how.',
  options: { ...whereOptions, ...jsonOption },

  async run(args, { host, out, err, terminal }) {
    take(this, args, 0)
    const findings = await host.examine(whereOf(args))
    const ill = findings.filter(({ verdict }) => verdict === 'bad')
    if (args.values.json) out(safeJson({ is_well: ill.length === 0, findings }, 2))
    else {
      const paint = paintFor(terminal.hasColor)
      const verdicts = { good: paint.good('ok'), odd: paint.warn('look'), bad: paint.bad('bad') }
      const rows = findings.map(({ verdict, what, says }) => [verdicts[verdict], what, safeLine(says)])
      for (const line of columns(rows)) out(line)
      for (const { what, fix } of findings.filter(hasFix)) err(`Next, for the ${what}: ${fix}`)
      if (ill.length === 0) out('Nothing has to be mended.')
    }
    return ill.length === 0 ? exits.ok : exits.failed
  },
}

const hasFix = ({ fix }: Finding) => fix !== null
