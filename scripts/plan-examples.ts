/** Makes the plans of `examples/plans` again and writes what they freeze: `npm run examples:plans`. */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { journalFile } from '../src/coordinator/outputs/freeze.ts'
import { main } from '../src/main.ts'

const root = 'examples/plans'

/** Every folder with an intent. */
export const planExamples = readdirSync(root).filter((name) => existsSync(join(root, name, 'intent.yaml')))

/** The command line that makes the plan of one example. */
export function planArguments(name: string, folder: string): readonly string[] {
  const answers = join(root, name, 'answers.yaml')
  return [
    'plan',
    join(root, name, 'intent.yaml'),
    ...['--registry', join(root, 'registry')],
    ...['--policy', join(root, 'policy.yaml')],
    ...['--memory', join(root, 'memory.yaml')],
    ...['--facts', join(root, 'shop')],
    ...(existsSync(answers) ? ['--answers', answers] : []),
    ...['-o', folder],
  ]
}

export const frozenFolder = (name: string) => join(root, name, 'frozen')

if (import.meta.main)
  for (const name of planExamples) {
    rmSync(frozenFolder(name), { recursive: true, force: true })
    await main(planArguments(name, frozenFolder(name)))
    // When it was made is no part of the example.
    rmSync(join(frozenFolder(name), journalFile))
  }
