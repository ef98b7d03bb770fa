import { isoTime } from '../../../kernel/instant.ts'
import type { Command } from '../../command.ts'
import { exits } from '../../exits.ts'
import { take } from '../../with-store.ts'
import { intentTemplate } from './intent-template.ts'

export const planInit: Command = {
  name: 'plan init',
  usage: 'statewright plan init [FILE]',
  summary: 'Write an intent to begin with, every field explained; without a file, print it.',
  options: {},

  async run(args, { host, out, err }) {
    const [file] = take(this, args, 0, 1)
    const text = intentTemplate(isoTime(host.now()))
    if (file === undefined) out(text.trimEnd())
    else {
      await host.planning.writeNew(file, text)
      err(`Wrote ${file}. Fill it in, then: statewright plan ${file} --registry DIR -o plan`)
    }
    return exits.ok
  },
}
