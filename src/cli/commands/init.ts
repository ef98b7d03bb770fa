import { writeFile } from 'node:fs/promises'
import { faults } from '../../faults/catalogue.ts'
import type { Command } from '../command.ts'
import { exampleConfig } from '../example-config.ts'
import { exits } from '../exits.ts'
import { take } from '../with-store.ts'

export const initCommand: Command = {
  name: 'init',
  usage: 'statewright init [FILE]',
  summary: 'Write a commented config with one agent and one tool, which runs as it is.',
  options: {},

  async run(args, { out, err }) {
    const [file = './statewright.config.ts'] = take(this, args, 0, 1)
    try {
      // Only a file that is not there is written: nobody's work is lost.
      await writeFile(file, exampleConfig, { flag: 'wx' })
    } catch (error) {
      const isThere = (error as { code?: string }).code === 'EEXIST'
      const problem = isThere ? 'it is there already; name another file.' : (error as Error).message
      throw faults.file_unusable({ file, problem }, { cause: error })
    }
    out(`${file} is written.`)
    const named = file === './statewright.config.ts' ? '' : ` --config ${file}`
    err(`Next: statewright run "Please refund order 7"${named}`)
    return exits.ok
  },
}
