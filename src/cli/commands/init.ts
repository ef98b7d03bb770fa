import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
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

  async run(args, { out, err, program }) {
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
    const steps = [...(isReadAsModule(file) ? [] : [asModule]), `${program} run "Please refund order 7"${named}`]
    for (const [i, step] of steps.entries()) err(`${i === 0 ? 'Next:' : '     '} ${step}`)
    return exits.ok
  },
}

const asModule = 'npm pkg set type=module'

/** What the nearest package.json says about the files around it. Where there is none, Node looks into the file. */
function isReadAsModule(file: string): boolean {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    const description = join(folder, 'package.json')
    if (existsSync(description)) return typeIn(description) === 'module'
    if (folder === dirname(folder)) return true
  }
}

function typeIn(description: string): unknown {
  try {
    return (JSON.parse(readFileSync(description, 'utf8')) as { type?: unknown }).type
  } catch {
    return undefined
  }
}
