import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commands } from '../../src/cli/commands/all.ts'
import type { Operation } from '../../src/surface/operation.ts'
import { operations } from '../../src/surface/operations/all.ts'

const source = join(import.meta.dirname, '../../src')

/** Operations that no command calls, with the command that does the same, and why it needs no call. */
const elsewhere: Readonly<Record<string, { readonly command: string; readonly because: string }>> = {
  list_machines: { command: 'topology', because: 'The declarations are part of the program.' },
  get_machine: { command: 'topology', because: 'The declarations are part of the program.' },
  get_topology: { command: 'topology', because: 'The declarations are part of the program.' },
  run_result: { command: 'show', because: 'get_run has the result, and is answered before the run is over, too.' },
  run_interaction: { command: 'inbox', because: 'get_run names the open questions; inbox shows each of them.' },
  reply_run: { command: 'answer', because: 'approve, deny, answer and settle address the question by its own id.' },
  get_plan_graph: { command: 'plan', because: 'plan show --out writes every frozen artifact, the graph among them.' },
  verify_plan: { command: 'plan', because: 'plan verify checks the frozen files itself: it trusts no server.' },
  get_plan_questions: { command: 'plan', because: 'get_plan has the pack that waits; plan show --out writes all.' },
}

function filesUnder(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
}

/** The names under which modules export operations. */
async function exportedNames(): Promise<ReadonlyMap<unknown, string>> {
  const names = new Map<unknown, string>()
  for (const file of filesUnder(join(source, 'surface/operations')))
    for (const [name, value] of Object.entries(await import(file))) names.set(value, name)
  return names
}

/** The values that a file imports and hands to `call`. */
function calledIn(text: string): readonly string[] {
  const imported = [...text.matchAll(/^import \{([^}]+)\} from '[./]+surface\/operations\/[\w-]+\.ts'/gm)]
  return imported.flatMap(([, list = '']) => {
    const names = list.split(',').map((name) => name.trim())
    return names.filter((name) => new RegExp(`\\.call\\([^)]*\\b${name}\\b`).test(text))
  })
}

test('F-36 command line: every operation has a command, or a reason why another one does the same', async () => {
  const names = await exportedNames()
  const called = new Set(filesUnder(join(source, 'cli')).flatMap((file) => calledIn(readFileSync(file, 'utf8'))))
  const isCalled = (operation: Operation) => called.has(names.get(operation) ?? '')
  const without = operations.filter((operation) => !isCalled(operation)).map(({ name }) => name)
  expect(without.toSorted()).toEqual(Object.keys(elsewhere).toSorted())
  for (const [name, { command, because }] of Object.entries(elsewhere)) {
    expect(
      commands.map((one) => one.name),
      name,
    ).toContain(command)
    expect(because, name).not.toBe('')
  }
})

test('F-36 command line: commands have names of their own', () => {
  const names = commands.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})
