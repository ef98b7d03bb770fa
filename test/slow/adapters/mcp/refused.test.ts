import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mcpWorld, scratch } from '../../../support/mcp-world.ts'

test.each([
  [JSON.stringify('a\u001b[31m\nb'), '{"type":"object"}', /it has a\\u\{1b\}\[31m\\u\{a\}b\./],
  [
    '"deep"',
    `${'{"type":"object","properties":{"a":'.repeat(2_000)}{}${'}}'.repeat(2_000)}`,
    /tool "deep" is refused: .* deeper than 64 levels/,
  ],
  [
    `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
    '{"type":"object"}',
    /tool without a name is refused: .* deeper than 64 levels/,
  ],
  ['"half"', '{"type":"object","title":"\\ud800"}', /tool "half" is refused: .* lone surrogate/],
])('F-88 mcp: a server with a hostile tool %# is refused with a sentence', async (name, schema, sentence) => {
  const folder = scratch()
  const tool = `{"name":${name},"description":"x","inputSchema":${schema}}`
  writeFileSync(join(folder, 'tools.json'), tool)
  const program = `
    const text = require('node:fs').readFileSync('tools.json', 'utf8')
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line)
      const server = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'h', version: '1' } }
      const result = method === 'initialize' ? JSON.stringify(server) : '{"tools":[' + text + ']}'
      if (id !== undefined) console.log('{"jsonrpc":"2.0","id":' + id + ',"result":' + result + '}')
    })`
  const hostile = {
    command: process.execPath,
    args: ['-e', program],
    cwd: folder,
    tools: { none: { readOnly: true } },
  }
  const refused = await mcpWorld({ hostile }, []).catch((error: Error) => error)
  expect(refused).toMatchObject({ code: 'server_unusable', message: expect.stringMatching(sentence) })
  expect((refused as Error).message).not.toMatch(/\p{Cc}/u)
})

test('F-91 mcp: the message of a failing server is shown without the secrets it was given', async () => {
  const leaking = [
    '-e',
    'const { API_KEY } = process.env; console.error("x".repeat(1990), API_KEY); console.error("no", API_KEY, Buffer.from("u:" + API_KEY).toString("base64"), "hunter22-declared"); process.exitCode = 1',
  ]
  const leak = { odd: { command: process.execPath, args: leaking, env: { API_KEY: 'sk-live-0123456789' } } }
  const told = await mcpWorld(leak, [], { secrets: { bank: 'hunter22-declared' } }).catch((error: Error) => error)
  const { message, details } = told as Error & { details: object }
  expect(message).toContain('It said: no [secret:API_KEY of odd]')
  for (const text of [message, JSON.stringify(details)])
    expect(text).not.toMatch(/0123456789|MDEyMzQ1Njc4|hunter22|live/)
})
