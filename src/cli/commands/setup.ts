import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileRefused } from '../../faults/catalogue.ts'
import { defaultConfigFile } from '../../surface/wiring.ts'
import { type Command, command } from '../command.ts'
import { exampleConfig } from '../example-config.ts'
import { exits } from '../exits.ts'
import { clientOptions, flag, text } from '../options.ts'
import { whereOf } from '../reach.ts'
import { columns, safeJson, safeLine } from '../render/text.ts'

const demo = command({
  usage: 'statewright demo [--folder DIR] [--yes]',
  summary: 'Kill an agent during a payment and watch the recovery. No key, no network, under 30 s.',
  options: {
    folder: text('the folder for the data. Default: a new temporary folder'),
    yes: flag("answer the demo's questions automatically (the default without a terminal)", 'y'),
  },
  run: ({ values: { folder, yes = false }, io }) =>
    io.host.playDemo(io, { folder, answersItself: yes || !io.terminal.isInteractive }),
})

const doctor = command({
  usage: 'statewright doctor [--store URL] [--config FILE] [--server URL] [--json]',
  summary: 'Check the machine, the store and the config, and name each problem with its fix.',
  options: clientOptions,
  async run({ values, paint, io: { host, out, err } }) {
    const findings = await host.examine(whereOf(values))
    const is_well = findings.every(({ verdict }) => verdict !== 'bad')
    if (values.json) out(safeJson({ is_well, findings }, 2))
    else {
      const verdicts = { good: paint.good('ok'), odd: paint.warn('look'), bad: paint.bad('bad') }
      const rows = findings.map(({ verdict, what, says }) => [verdicts[verdict], what, safeLine(says)])
      for (const line of columns(rows)) out(line)
      for (const { what, fix } of findings) if (fix !== null) err(`Next, for the ${what}: ${fix}`)
      if (is_well) out('Nothing has to be fixed.')
    }
    return is_well ? exits.ok : exits.failed
  },
})

const init = command({
  usage: 'statewright init [FILE]',
  summary: 'Write a commented config with one agent and one tool. It runs unchanged.',
  takes: [0, 1],
  options: {},
  async run({ words: [file = defaultConfigFile], io: { out, err, program } }) {
    try {
      // Never overwrites a file.
      await writeFile(file, exampleConfig, { flag: 'wx' })
    } catch (error) {
      throw fileRefused(file, error)
    }
    out(`${file} is written.`)
    const named = file === defaultConfigFile ? '' : ` --config ${file}`
    const steps = [
      ...(isReadAsModule(file) ? [] : ['npm pkg set type=module']),
      `${program} run "Please refund order 7"${named}`,
    ]
    for (const [i, step] of steps.entries()) err(`${i === 0 ? 'Next:' : '     '} ${step}`)
  },
})

/** Commands for a first day. */
export const setupCommands: readonly Command[] = [demo, init, doctor]

/** Whether the nearest package.json makes the file a module. Without one, Node looks into the file. */
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
