import { expect, test } from 'vitest'
import type { Command } from '../../src/cli/command.ts'
import { faults } from '../../src/faults/catalogue.ts'
import { runCli } from '../support/run-cli.ts'

const broken = (error: Error): Command => ({
  name: 'broken',
  usage: 'statewright broken',
  summary: 'Throws what it was given.',
  options: { deep: { type: 'boolean', short: 'd', summary: 'as deep as it goes' } },
  run: async () => {
    throw error
  },
})

test.each(['--help', '-h', 'help'])('cli run: %s lists every command on standard output', async (flag) => {
  const { exit, out, err } = await runCli([flag])
  expect({ exit, err }).toEqual({ exit: 0, err: '' })
  expect(out).toMatch(/^usage: statewright <command> \[options\]\n/)
  expect(out).toMatch(/ topology +Print one machine/)
})

test.each([
  ['help', 'topology'],
  ['topology', '--help'],
  ['topology', '-h'],
  ['--help', 'topology'],
])('cli run: %s %s explains the command', async (...args) => {
  const { exit, out } = await runCli(args)
  expect(exit).toBe(0)
  expect(out).toMatch(/^usage: statewright topology/)
  expect(out).toMatch(/--xstate +an XState 5 configuration/)
})

test.each(['--version', '-v'])('cli run: %s prints the version', async (flag) => {
  expect(await runCli([flag])).toEqual({ exit: 0, out: '1.2.3', err: '' })
})

test('command line: nothing at all prints the usage to standard error and exits 2', async () => {
  const { exit, out, err } = await runCli([])
  expect({ exit, out }).toEqual({ exit: 2, out: '' })
  expect(err).toContain('usage: statewright <command>')
})

test('command line: an unknown command exits 2 and lists the known ones', async () => {
  const { exit, out, err } = await runCli(['fly'], { commands: [broken(new Error())] })
  expect({ exit, out }).toEqual({ exit: 2, out: '' })
  expect(err).toBe('Unknown command "fly". Known commands: broken.\nusage: statewright <command> [options]')
})

test('command line: an unknown option exits 2 and lists the known ones', async () => {
  const { exit, err } = await runCli(['broken', '--wide'], { commands: [broken(new Error())] })
  expect(exit).toBe(2)
  expect(err).toBe('Unknown option --wide. Known options: --deep, --help.\nusage: statewright broken')
})

test('command line: a fault is a sentence on standard error and an exit code of its own', async () => {
  const fault = faults.not_found({ what: 'session', id: 's_1' })
  expect(await runCli(['broken'], { commands: [broken(fault)] })).toEqual({
    exit: 3,
    out: '',
    err: 'There is no session s_1.',
  })
})

test('command line: anything else is a bug and is not caught', async () => {
  await expect(runCli(['broken'], { commands: [broken(new RangeError('bug'))] })).rejects.toThrow(RangeError)
})

test('command line: the help of a command shows short flags', async () => {
  expect((await runCli(['help', 'broken'], { commands: [broken(new Error())] })).out).toContain(
    '  -d, --deep  as deep as it goes',
  )
})

test('cli run: an option with a value that is given twice is refused; a switch may be', async () => {
  expect(await runCli(['ps', '--store', 'sqlite:./a.db', '--store', 'sqlite:./b.db'])).toMatchObject({
    exit: 2,
    err: expect.stringContaining('--store is given more than once.'),
  })
  expect(await runCli(['topology', 'contract', '--json', '--json'])).toMatchObject({ exit: 0 })
})
