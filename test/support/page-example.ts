import { stripTypeScriptTypes } from 'node:module'
import { expect } from 'vitest'
import type { StatewrightOptions } from '../../src/app/statewright.ts'

/** Runs a module of an example that exports a config. Its imports of our package come from the sources. */
export async function evaluate(code: string): Promise<StatewrightOptions> {
  const { names, values, body } = await linked(code)
  const config = stripTypeScriptTypes(`(() => {${body.replace('export default', 'return')}})()`)
  return new Function(...names, config.replace(/^/, 'return '))(...values)
}

/** Runs a program of an example: `given` has what the page takes for granted. Returns the variables that are asked for. */
export async function runProgram(
  code: string,
  given: Readonly<Record<string, unknown>>,
  asked: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const { names, values, body } = await linked(code)
  const program = stripTypeScriptTypes(`(async () => {${body}\nreturn { ${asked.join(', ')} }})()`)
  const run = new Function(...names, ...Object.keys(given), program.replace(/^/, 'return '))
  return run(...values, ...Object.values(given))
}

async function linked(code: string) {
  const names: string[] = []
  const values: unknown[] = []
  for (const [, imported = '', from = ''] of code.matchAll(/^import \{ (.*) \} from '(.*)'$/gm)) {
    const module: Record<string, unknown> = await (ours[from]?.() ?? import(from))
    for (const name of imported.split(', ')) {
      expect(module, `${from} has ${name}`).toHaveProperty(name)
      names.push(name)
      values.push(module[name])
    }
  }
  return { names, values, body: code.replace(/^import .*$/gm, '') }
}

const ours: Readonly<Record<string, () => Promise<object>>> = {
  statewright: () => import('../../src/index.ts'),
  'statewright/testing': () => import('../../src/entry/testing.ts'),
  'statewright/plans': () => import('../../src/entry/plans.ts'),
}
