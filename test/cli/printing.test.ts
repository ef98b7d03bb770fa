import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemHost } from '../../src/app/host.ts'
import type { Command } from '../../src/cli/command.ts'
import { commands } from '../../src/cli/commands/all.ts'
import { paintFor, safeJson } from '../../src/cli/render/text.ts'
import { run } from '../../src/cli/run.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temporary.ts'

/** Every control character but the line feed, and what turns text around or hides it. */
const treacherous = [
  ...Array.from({ length: 32 }, (_, code) => code).filter((code) => code !== 10),
  ...Array.from({ length: 33 }, (_, i) => 0x7f + i),
  ...[0xad, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2066, 0x2069, 0xfeff, 0xe0061],
].map((code) => String.fromCodePoint(code))
const foreign = `a${treacherous.join('')}z`
const raw = (text: string) => treacherous.filter((character) => text.includes(character))

/** A command whose author forgot to escape anything. */
const careless: Command = {
  name: 'careless',
  usage: '',
  summary: '',
  options: {},
  async run(_args, io) {
    io.out(foreign)
    io.err(foreign)
    io.write(foreign)
    await io.terminal.ask(foreign)
    return 0
  },
}

test('F-95 terminal: no command can print a control or a bidi character, even if it escapes nothing itself', async () => {
  let asked = ''
  const { out, err } = await runCli(['careless'], {
    commands: [careless],
    typed: (question) => {
      asked = question
      return ''
    },
  })
  for (const text of [out, err, asked]) {
    expect(text).toContain('\\u{9b}')
    expect(raw(text)).toEqual([])
  }
})

test('F-95 terminal: with colours, only the colours of this program get through', async () => {
  const printed: string[] = []
  const paint = paintFor(true)
  const line = `${paint.bad('no')} \u001b[8mhidden\u001b[0m \u001b]0;title\u0007 \u009b2J`
  const painting: Command = {
    ...careless,
    async run(_args, io) {
      io.out(line)
      return 0
    },
  }
  await run({ version: '', commands: [painting] }, ['careless'], {
    out: (text) => void printed.push(text),
    err: () => {},
    write: () => {},
    terminal: { isInteractive: false, isScreen: false, hasColor: true, ask: async () => undefined },
    program: 'statewright',
    host: systemHost,
  })
  expect(printed).toEqual([`${paint.bad('no')} \\u{1b}[8mhidden\\u{1b}[0m \\u{1b}]0;title\\u{7} \\u{9b}2J`])
})

test('F-95 terminal: JSON holds escapes and reads back as the same value', () => {
  const value = { [foreign]: [foreign, '\ud800'] }
  const text = safeJson(value, 2)
  expect(raw(text)).toEqual([])
  expect(JSON.parse(text)).toEqual(value)
})

test('F-95 verify: a foreign session id is printed escaped, as text and as JSON', async () => {
  const file = join(temporaryFolder(), 'bundle.ndjson')
  const session_id = `ses_${foreign}`
  writeFileSync(file, `${JSON.stringify({ format: 'statewright-bundle', version: 2, session_id, machines: {} })}\n`)
  for (const more of [[], ['--json']]) {
    const { exit, out, err } = await runCli(['verify', '--bundle', file, ...more], { commands })
    expect(exit).toBe(5)
    expect(raw(out + err)).toEqual([])
    expect(out + err).toContain(more.length === 0 ? '\\u{9b}' : '\\u009b')
  }
})
