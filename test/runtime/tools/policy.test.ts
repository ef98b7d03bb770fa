import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../../../src/runtime/tools/define-tool.ts'
import { approvalDigest, decide, permissionPolicy } from '../../../src/runtime/tools/policy.ts'
import { sha256 } from '../../support/sha256.ts'

const approvals = ['inherit', 'always', 'never'] as const
const modes = ['read_only', 'auto', 'full_access'] as const
const overrides = [undefined, 'always', 'never'] as const
const runModes = ['interactive', 'auto'] as const

/** Every combination there is: 3 × 2 × 3 × 3 × 2 × 2. */
const cases = approvals.flatMap((approval) =>
  [true, false].flatMap((read_only) =>
    modes.flatMap((mode) =>
      overrides.flatMap((override) =>
        [true, false].flatMap((beforehand) =>
          runModes.map((runMode) => {
            const subject = tool({ name: 'a.b', input: z.object({}), approval, readOnly: read_only, run: () => null })
            const policy = permissionPolicy.parse({
              mode,
              per_tool_overrides: override === undefined ? { other: 'never' } : { 'a.b': override },
              pre_approved: beforehand ? ['a.b'] : ['a'],
            })
            return { approval, read_only, mode, override, beforehand, runMode, ...decide(policy, subject, runMode) }
          }),
        ),
      ),
    ),
  ),
)

/** The decision before it is known whether a person can answer: the first line that fits. */
function wanted(c: (typeof cases)[number]): 'run' | 'ask' | 'deny' {
  const table = [
    [c.mode === 'read_only' && !c.read_only && c.override !== 'never', 'deny'],
    [c.approval === 'always' || c.override === 'always', 'ask'],
    [c.approval === 'never' || c.override === 'never', 'run'],
    [c.mode === 'full_access' || c.read_only, 'run'],
    [true, 'ask'],
  ] as const
  return table.find(([fits]) => fits)?.[1] ?? 'deny'
}

test('policy: every combination of declaration, override, mode, pre-approval and run is judged in that order', () => {
  expect(cases).toHaveLength(216)
  for (const c of cases) {
    const asked = wanted(c) === 'ask'
    const verdict = !asked ? wanted(c) : c.beforehand ? 'run' : c.runMode === 'auto' ? 'deny' : 'ask'
    expect(c).toMatchObject({ verdict, reason: expect.stringMatching(/\.$/) })
    expect(c.approved_by).toBe(asked && c.beforehand ? 'policy' : undefined)
  }
})

test('policy: nothing is ever asked in an auto run', () => {
  expect(cases.filter((c) => c.runMode === 'auto' && c.verdict === 'ask')).toEqual([])
})

test('policy: an empty policy lets a person decide about tools that change something', () => {
  expect(permissionPolicy.parse({})).toEqual({ mode: 'auto', per_tool_overrides: {}, pre_approved: [] })
})

test('policy: a tool that is called like something every object has is not taken for an override', () => {
  const subject = tool({ name: 'constructor', input: z.object({}), run: () => null })
  expect(decide(permissionPolicy.parse({}), subject, 'interactive').verdict).toBe('ask')
})

test('policy: an approval covers one tool, definition, argument list and policy, and no other', () => {
  const policy = permissionPolicy.parse({})
  const what = { tool: 'a.b', definition_sha256: 'd1', arguments: { x: 1, y: 2 }, policy }
  const digest = approvalDigest(what, sha256)
  expect(approvalDigest({ ...what, arguments: { y: 2, x: 1 } }, sha256)).toBe(digest)

  const others = [
    { ...what, tool: 'a.c' },
    { ...what, definition_sha256: 'd2' },
    { ...what, arguments: { x: 1, y: 3 } },
    { ...what, policy: { ...policy, mode: 'full_access' as const } },
    { ...what, policy: { ...policy, pre_approved: ['a.b'] } },
  ].map((other) => approvalDigest(other, sha256))
  expect(new Set([digest, ...others]).size).toBe(others.length + 1)
})
