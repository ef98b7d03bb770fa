import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { exampleConfig } from '../../src/cli/example-config.ts'
import { type Outcome, runCli, type Setting } from './run-cli.ts'

const source = (file: string) => pathToFileURL(join(import.meta.dirname, '../../src', file)).href

/** A text that imports our package and zod, for a folder from which neither can be found by name. */
export function importable(program: string): string {
  return program
    .replaceAll("'statewright'", `'${source('index.ts')}'`)
    .replaceAll(/'statewright\/(\w+)'/g, (_, entry: string) => `'${source(`entry/${entry}.ts`)}'`)
    .replaceAll("'zod'", `'${import.meta.resolve('zod')}'`)
}

/**
 * An agent that does what it is told: "refund 7" calls a tool that needs
 * approval, "look 7" one that needs none, "form" hands a form to a person,
 * "fail" breaks the stream for good, and anything else is said back. Beside it
 * there is one that speaks slowly, and not before the file "hush" has gone.
 */
export const obedientConfig = `
import { existsSync } from 'node:fs'
import { agent, defineConfig, tool } from 'statewright'
import { ask, breakOff, call, say, scriptedModel } from 'statewright/testing'
import { z } from 'zod'

const order = z.object({ order: z.int() })
const refund = tool({
  name: 'orders.refund', input: order, irreversible: true, approval: 'always',
  run: ({ order }) => ({ refunded: order }),
})
const note = tool({ name: 'orders.note', input: order, approval: 'always', run: ({ order }) => ({ noted: order }) })
const look = tool({ name: 'orders.look', input: order, readOnly: true, run: ({ order }) => ({ order, cents: 4200 }) })

const obedient = agent({
  role: 'obedient',
  tools: [refund, note, look],
  model: scriptedModel(({ messages }) => {
    const begun = messages.findLastIndex(({ role }) => role === 'user')
    const since = messages.slice(begun + 1)
    const done = since.findLast(({ role }) => role === 'tool')
    if (done !== undefined) return say('It is ' + done.consequence.consequence_label + '.')
    const [verb, number] = String(messages[begun].content).split(' ')
    if (verb === 'refund' || verb === 'note' || verb === 'look') return call('orders.' + verb, { order: Number(number) })
    if (verb === 'form')
      return ask({
        title: 'Which colour?',
        fields: [{ name: 'colour', type: 'select', options: ['red', 'blue'], required: true }, { name: 'count', type: 'number', default: 1 }],
      })
    if (verb === 'fail') return breakOff('the model is gone', { retryable: false })
    return say('You said: ' + messages[begun].content)
  }, { pieces: 3 }),
})

const slow = agent({
  role: 'slow',
  model: scriptedModel(() => say('one two three four five six'), {
    pieces: 6,
    beforeDelta: async () => {
      do await new Promise((resolve) => setTimeout(resolve, 50))
      while (existsSync(new URL('./hush', import.meta.url)))
    },
  }),
})
`

export interface Project {
  readonly folder: string
  readonly config: string
  readonly store: string
  /** A command with the places of this project. */
  cli(args: readonly string[], setting?: Setting): Promise<Outcome>
}

/** A folder with a config and a store that the first run makes. */
export function createProject(folder: string, agents = '{ obedient }', source = obedientConfig, url?: string): Project {
  const config = join(folder, 'statewright.config.ts')
  const store = url ?? `sqlite:${join(folder, 'statewright.db')}`
  const exported = `export default defineConfig({ store: ${JSON.stringify(store)}, agents: ${agents} })`
  writeFileSync(config, importable(`${source}\n${exported}\n`))
  return { folder, config, store, cli: (args, setting) => runCli([...args, '--config', config], setting) }
}

/** The files of `statewright init`, made to run in this folder. */
export function exampleProject(folder: string): Project {
  const project = createProject(folder)
  writeFileSync(project.config, importable(exampleConfig).replace('sqlite:./statewright.db', project.store))
  return project
}

/** The first id of a kind in a text. */
export function idIn(text: string, prefix: 'ses' | 'run' | 'int' | 'exe' | 'goal'): string {
  const [found] = new RegExp(`${prefix}_[0-9a-f]+`).exec(text) ?? []
  if (found === undefined) throw new Error(`There is no ${prefix}_ in: ${text}`)
  return found
}
