import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cruiseRooms } from '../../scripts/cruise-rooms.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'statewright-rooms-'))
  symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'))
})
afterEach(() => rmSync(root, { recursive: true }))

/** Each file imports the others it names, and packages by their names. */
async function problemsOf(tree: Readonly<Record<string, readonly string[]>>): Promise<readonly string[]> {
  for (const [path, imports] of Object.entries(tree)) {
    const lines = imports.map((name, i) => `import * as x${i} from '${name}'\nvoid x${i}`)
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), `${lines.join('\n')}\nexport const here = 1\n`)
  }
  return (await cruiseRooms(root)).problems
}

test('rooms: a tree without modules fails, since nothing was checked', async () => {
  expect(await cruiseRooms(root)).toEqual({ modules: 0, problems: ['no modules: there is nothing to check here'] })
})

test('rooms: a tree that keeps the rules passes, and every file of it was looked at', async () => {
  const tree = { 'src/kernel/a.ts': [], 'src/machines/b.ts': ['../kernel/a.ts'], 'src/main.ts': ['./machines/b.ts'] }
  expect(await problemsOf(tree)).toEqual([])
  expect((await cruiseRooms(root)).modules).toBe(3)
})

test.each<[string, Readonly<Record<string, readonly string[]>>, string]>([
  [
    'the kernel importing anything',
    { 'src/kernel/a.ts': ['../machines/b.ts'], 'src/machines/b.ts': [] },
    'kernel-touches-only-its-own: src/kernel/a.ts → src/machines/b.ts',
  ],
  [
    'red line: the coordinator importing what executes',
    { 'src/coordinator/a.ts': ['../runtime/b.ts'], 'src/runtime/b.ts': [] },
    'the-coordinator-reaches-nothing-that-executes: src/coordinator/a.ts → src/runtime/b.ts',
  ],
  [
    'red line: the coordinator reaching what executes through another room',
    {
      'src/coordinator/a.ts': ['../observation/b.ts'],
      'src/observation/b.ts': ['../runtime/c.ts'],
      'src/runtime/c.ts': [],
    },
    'the-coordinator-reaches-nothing-that-executes: src/coordinator/a.ts → src/runtime/c.ts',
  ],
  [
    'red line: a turn reading the runelog',
    { 'src/runtime/turns/a.ts': ['../../runelog/b.ts'], 'src/runelog/b.ts': [] },
    'reasoning-sees-consequences-only: src/runtime/turns/a.ts → src/runelog/b.ts',
  ],
  [
    'red line: a turn reading contracts',
    { 'src/runtime/turns/a.ts': ['../contracts.ts'], 'src/runtime/contracts.ts': [] },
    'reasoning-sees-consequences-only: src/runtime/turns/a.ts → src/runtime/contracts.ts',
  ],
  [
    'red line: a turn reading the folder of contracts',
    { 'src/runtime/turns/a.ts': ['../contracts/open.ts'], 'src/runtime/contracts/open.ts': [] },
    'reasoning-sees-consequences-only: src/runtime/turns/a.ts → src/runtime/contracts/open.ts',
  ],
  [
    'red line: a turn reaching a fold through a file that it may import',
    {
      'src/runtime/turns/a.ts': ['../model.ts'],
      'src/runtime/model.ts': ['../observation/dialogue.ts'],
      'src/observation/dialogue.ts': [],
    },
    'reasoning-sees-consequences-only: src/runtime/turns/a.ts → src/observation/dialogue.ts',
  ],
  [
    'red line: a turn reading snapshots',
    { 'src/runtime/turns/a.ts': ['../../wire/contract.ts'], 'src/wire/contract.ts': [] },
    'reasoning-sees-consequences-only: src/runtime/turns/a.ts → src/wire/contract.ts',
  ],
  [
    'red line: a turn naming a contract',
    { 'src/runtime/turns/a.ts': ['../../machines/contract.ts'], 'src/machines/contract.ts': [] },
    'reasoning-imports-no-records: src/runtime/turns/a.ts → src/machines/contract.ts',
  ],
  [
    'red line: a turn naming a rune',
    { 'src/runtime/turns/a.ts': ['../../runes/rune.ts'], 'src/runes/rune.ts': [] },
    'reasoning-imports-no-records: src/runtime/turns/a.ts → src/runes/rune.ts',
  ],
  ['a pure room with a disk', { 'src/machines/a.ts': ['node:fs'] }, 'pure-rooms-stay-pure: src/machines/a.ts → fs'],
  ['a package in the runtime', { 'src/runtime/a.ts': ['xstate'] }, 'packages-are-met-at-the-edge: src/runtime/a.ts'],
  ['zod in the kernel', { 'src/kernel/a.ts': ['zod'] }, 'zod-describes-shapes-only-where-shapes-are-checked'],
  [
    'one adapter knowing another',
    { 'src/adapters/sqlite/a.ts': ['../mcp/b.ts'], 'src/adapters/mcp/b.ts': [] },
    'adapters-do-not-know-each-other: src/adapters/sqlite/a.ts → src/adapters/mcp/b.ts',
  ],
  [
    'the console reaching behind the pure rooms',
    { 'console/a.ts': ['../src/runelog/b.ts'], 'src/runelog/b.ts': [] },
    'console-sees-only-the-pure-rooms: console/a.ts → src/runelog/b.ts',
  ],
  ['a room that no rule knows', { 'src/attic/a.ts': ['./b.ts'], 'src/attic/b.ts': [] }, 'every-file-has-a-room'],
  [
    'a room that imports the wiring',
    { 'src/server/a.ts': ['../app/b.ts'], 'src/app/b.ts': [] },
    'server-touches-only-its-own: src/server/a.ts → src/app/b.ts',
  ],
  ['an import of main', { 'src/cli/a.ts': ['../main.ts'], 'src/main.ts': [] }, 'nothing-imports-main: src/cli/a.ts'],
  ['a ring of imports', { 'src/kernel/a.ts': ['./b.ts'], 'src/kernel/b.ts': ['./a.ts'] }, 'no-cycles'],
  ['an import of nothing', { 'src/kernel/a.ts': ['./gone.ts'] }, 'nothing-is-unresolved: src/kernel/a.ts'],
])('rooms: %s is found', async (_, tree, problem) => {
  expect((await problemsOf(tree)).join('\n')).toContain(problem)
})
