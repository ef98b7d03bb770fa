import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { Topology } from '../../../src/kernel/topology.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('launcher')
const launcher = fileURLToPath(new URL('../../../bin/statewright.js', import.meta.url))

function launch(args: readonly string[], nodeFlags: readonly string[] = []) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...nodeFlags, launcher, ...args], {
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

/** Runs before the launcher and makes it believe that it runs on another Node. */
function pretending(version: string): readonly string[] {
  const source = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
  return ['--import', `data:text/javascript,${encodeURIComponent(source)}`]
}

test('launcher: the real command prints its answer, and nothing else', () => {
  const { status, stdout, stderr } = launch(['topology', 'contract', '--json'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect((JSON.parse(stdout) as Topology).nodes).toHaveLength(7)
})

test('launcher: output that cannot be written is one sentence and exit 1', () => {
  const full = openSync('/dev/full', 'w')
  const stdio = ['ignore', full, 'pipe'] as const
  const { status, stderr } = spawnSync(process.execPath, [launcher, 'topology', 'contract'], {
    stdio: [...stdio],
    encoding: 'utf8',
  })
  closeSync(full)
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^The output cannot be written: ENOSPC.*\n$/),
  })
})

test('launcher: a reader that leaves early, as `head` does, is no error', async () => {
  // GIVEN output that goes into a pipe whose other end is closed before anything is written
  const child = spawn(process.execPath, [launcher, 'topology', 'contract'], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  let told = ''
  child.stderr.on('data', (chunk) => {
    told += chunk
  })

  // WHEN it writes, THEN it leaves without a word
  const [, signal] = await once(child, 'close')
  expect({ signal, told }).toEqual({ signal: 'SIGTERM', told: '' })
})

test('launcher: the real command knows its version and its exit codes', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  expect(launch(['--version'])).toEqual({ status: 0, stdout: `${manifest.version}\n`, stderr: '' })
  expect(launch(['topology', 'parrot']).status).toBe(2)
})

test('launcher: a process that ends before it is done says so and exits 1', () => {
  const config = join(scratch.fresh(), 'statewright.config.ts')
  writeFileSync(config, 'await new Promise(() => {})\nexport default {}\n')
  expect(launch(['ps', '--config', config])).toEqual({
    status: 1,
    stdout: '',
    stderr: 'The process ended before the command was done: a promise never resolved, perhaps one in the config.\n',
  })
})

test('config: one that Node reads as CommonJS is refused with the remedy', () => {
  const folder = scratch.fresh()
  const config = join(folder, 'statewright.config.ts')
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }')
  writeFileSync(config, "import 'node:fs'\nexport default {}\n")
  const { status, stderr } = launch(['ps', '--config', config])
  expect(status).toBe(1)
  expect(stderr).toContain('npm pkg set type=module')
})

test.each(['20.20.2', '18.0.0', '22.12.0', '22.9.0'])(
  'launcher: on Node %s it says one sentence and exits 1',
  (version) => {
    expect(launch(['--version'], pretending(version))).toEqual({
      status: 1,
      stdout: '',
      stderr: `Statewright needs Node 22.18 or newer; this is Node ${version}.\n`,
    })
  },
)

test.each(['22.18.0', '23.0.0', '26.1.0'])('launcher: on Node %s it runs', (version) => {
  expect(launch(['--version'], pretending(version)).status).toBe(0)
})
