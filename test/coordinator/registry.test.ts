import { describe, expect, test } from 'vitest'
import { admitRegistry } from '../../src/coordinator/registry.ts'
import type { Json } from '../../src/kernel/json.ts'
import { nearest } from '../../src/kernel/nearest.ts'
import { agent, command, content, ports, registryOf, rule, workflow } from '../support/coordinator.ts'

function admit(...entries: readonly Json[]) {
  return admitRegistry(
    entries.map((entry, i) => ({ name: `file_${i}.yaml`, content: entry })),
    ports,
  )
}

function problemsOf(...entries: readonly Json[]): readonly string[] {
  const admission = admit(...entries)
  return admission.admitted ? [] : admission.problems.map(({ path, message }) => `${path}: ${message}`)
}

const policy = (text: string) => rule('rule_r01_x', 'allow', 'true', { policy: text })
const head = '@id("rule_r01_x") @reason("Because.") @severity("warn")'

describe('registry: admission', () => {
  test('a registry is taken with a checksum for every entry, and its rules say severity and reason', () => {
    const { entries } = registryOf()
    expect(entries).toHaveLength(content.length)
    for (const { checksum } of entries) expect(checksum).toMatch(/^[0-9a-f]{64}$/)
    expect(entries.find(({ id }) => id === 'rule_r02_write')).toMatchObject({
      severity: 'warn',
      reason: 'rule_r02_write has its reasons.',
    })
  })

  test('a snapshot is named by its content: order and file names do not matter, every change does', () => {
    const { snapshot_id } = registryOf()
    expect(registryOf(content.toReversed()).snapshot_id).toBe(snapshot_id)
    for (const change of [
      { title: 'Another' },
      { status: 'frozen', checksum: registryOf().entries.find(({ id }) => id === 'cmd_read')?.checksum ?? '' },
      { version: '1.0.1' },
    ])
      expect(
        registryOf([...content.filter(({ id }) => id !== 'cmd_read'), command('cmd_read', change)]).snapshot_id,
      ).not.toBe(snapshot_id)
  })

  test('the checksum of an entry does not cover its status', () => {
    const sum = (status: string, more: object = {}) => {
      const admission = admit(agent('agent_x', { status, ...more }))
      return admission.admitted ? admission.snapshot.entries[0]?.checksum : JSON.stringify(admission.problems)
    }
    expect(sum('deprecated')).toBe(sum('active'))
    expect(sum('frozen', { checksum: sum('active') as string })).toBe(sum('active'))
  })

  test('a frozen entry must carry its checksum, and a checksum must be true', () => {
    expect(problemsOf(command('cmd_x', { status: 'frozen' }))).toEqual([
      expect.stringMatching(/^file_0.yaml: a frozen entry must carry its checksum, which is [0-9a-f]{64}$/),
    ])
    expect(problemsOf(command('cmd_x', { checksum: 'c'.repeat(64) }))).toEqual([
      expect.stringContaining('a change needs a new version'),
    ])
  })

  test.each([
    [
      'no @id',
      '@reason("Because.") @severity("warn") permit (principal, action, resource);',
      'must carry @id("rule_r01_x")',
    ],
    [
      'another @id',
      `${head.replace('r01_x', 'r02_y')} permit (principal, action, resource);`,
      'must carry @id("rule_r01_x")',
    ],
    ['no @reason', '@id("rule_r01_x") @severity("warn") permit (principal, action, resource);', 'must carry @reason'],
    [
      'an empty @reason',
      '@id("rule_r01_x") @reason("  ") @severity("warn") permit (principal, action, resource);',
      'must carry @reason',
    ],
    [
      'no @severity',
      '@id("rule_r01_x") @reason("Because.") permit (principal, action, resource);',
      'must carry @severity',
    ],
    [
      'an unknown @severity',
      `${head.replace('warn', 'fatal')} permit (principal, action, resource);`,
      'must carry @severity',
    ],
    ['a forbid', `${head} forbid (principal, action, resource);`, 'must be a permit'],
    ['an unknown attribute', `${head} permit (principal, action, resource) when { context.nope == 1 };`, 'not found'],
    ['a wrong type', `${head} permit (principal, action, resource) when { context.risk == "high" };`, 'type'],
    ['an unknown command entity', `${head} permit (principal, action, resource == Tool::"x");`, 'Tool'],
    [
      'a condition that can never hold',
      `${head} permit (principal, action == Action::"plan", resource) when { false };`,
      'impossible',
    ],
    ['two policies', `${head} permit (principal, action, resource); permit (principal, action, resource);`, ''],
    ['a template', `${head} permit (principal == ?principal, action, resource);`, ''],
    ['no syntax', 'permit when', ''],
  ])('a rule with %s is refused', (_, text, message) => {
    const problems = problemsOf(policy(text))
    expect(problems.length).toBeGreaterThan(0)
    expect(problems.join('\n')).toContain(message)
  })

  test('one bad file refuses all, and every problem of every file is named', () => {
    const problems = problemsOf(
      command('cmd_x', { effects: ['fly'] }),
      policy('permit when'),
      { kind: 'poem' },
      ...content,
    )
    expect(problems.map((problem) => problem.split(':')[0]?.replace(/\..*/, ''))).toEqual([
      'file_0',
      'file_1',
      'file_2',
    ])
    expect(problems[0]).toContain('file_0.yaml.effects[0]')
  })

  test('a reference to a missing parent version, command or phase is refused', () => {
    expect(problemsOf(workflow('wf_x', [{ phase: 'setup', commands: ['cmd_gone'] }]))).toEqual([
      expect.stringContaining('lists cmd_gone'),
    ])
    expect(problemsOf(workflow('wf_x', [{ phase: 'setup', after: ['design'] }]))).toEqual([
      expect.stringContaining('follows design'),
    ])
    expect(problemsOf(workflow('wf_x', [{ phase: 'setup' }, { phase: 'setup' }]))).toEqual([
      expect.stringContaining('twice'),
    ])
    expect(
      problemsOf(command('cmd_x', { version: '2.0.0', lineage: { parent_version: '1.0.0', change_reason: 'More.' } })),
    ).toEqual([expect.stringContaining('parent version 1.0.0')])
    expect(problemsOf(command('cmd_x'), command('cmd_x', { title: 'Another' }))).toEqual([
      'file_1.yaml: command cmd_x 1.0.0 is also in file_0.yaml',
    ])
    expect(
      problemsOf(
        command('cmd_x'),
        command('cmd_x', { version: '1.0.1', lineage: { parent_version: '1.0.0', change_reason: 'More.' } }),
      ),
    ).toEqual([])
  })
})

test('registry: the nearest name is the one with the fewest letters to change', () => {
  expect(nearest('cmd_raed', ['cmd_write', 'cmd_read', 'cmd_scan'])).toBe('cmd_read')
  expect(nearest('abc', ['abd', 'xbc'])).toBe('abd')
  expect(nearest('same', ['other', 'same'])).toBe('same')
  expect(nearest('x', [])).toBeNull()
})
