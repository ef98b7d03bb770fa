import { stripTypeScriptTypes } from 'node:module'
import { expect } from 'vitest'
import type { StatewrightOptions } from '../../src/statewright.ts'

/** Runs a module of an example. What it imports from us comes from the sources. */
export async function evaluate(code: string): Promise<StatewrightOptions> {
  const names: string[] = []
  const values: unknown[] = []
  for (const [, imported = '', from = ''] of code.matchAll(/^import \{ (.*) \} from '(.*)'$/gm)) {
    const module: Record<string, unknown> = await (from === 'statewright' ? import('../../src/index.ts') : import(from))
    for (const name of imported.split(', ')) {
      expect(module, `${from} has ${name}`).toHaveProperty(name)
      names.push(name)
      values.push(module[name])
    }
  }
  const body = code.replace(/^import .*$/gm, '').replace('export default', 'return')
  return new Function(...names, stripTypeScriptTypes(`(() => {${body}})()`).replace(/^/, 'return '))(...values)
}
