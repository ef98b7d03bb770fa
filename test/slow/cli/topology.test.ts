import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('topology: the real command prints each form of one machine and of all, and ends with exit code 0', () => {
  for (const machine of [[], ['run']])
    for (const form of [[], ['--json'], ['--mermaid'], ['--xstate']]) {
      const args = ['bin/statewright.js', 'topology', ...machine, ...form]
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
      expect(stdout).toContain('waiting_user')
    }
})
