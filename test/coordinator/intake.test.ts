import { expect, test } from 'vitest'
import { intentOf, plan, planned } from '../support/coordinator.ts'

test.each(['rejected', 'superseded'])('F-46 intake: an intent that is %s is not planned', (status) => {
  const { state, artifacts } = plan({ intent: intentOf((i) => ({ ...i, status })) })
  expect(state).toBe('BLOCKED')
  expect(artifacts.failure_pack).toMatchObject({
    cause: 'schema_invalid',
    problems: [{ path: 'status', message: expect.stringContaining(`is ${status}; only an intent that is draft`) }],
  })
})

test.each(['draft', 'proposed', 'approved'])('F-46 intake: an intent that is %s is planned', (status) => {
  expect(plan({ intent: intentOf((i) => ({ ...i, status })) }).state).toBe('DONE')
})

test('F-46 intake: an intent cannot talk away the review of a command that writes, by the registry', () => {
  const risk = { overall: 'medium', drivers: ['None.'], requires_review: [] }
  const intent = intentOf((i) => ({ ...i, risk, planned_commands: [planned('cmd_write', { effects: ['read'] })] }))
  const { state, artifacts } = plan({ intent })
  expect(state).toBe('BLOCKED')
  expect(artifacts.failure_pack?.problems).toMatchObject([{ path: 'risk.requires_review', refs: ['cmd_write'] }])
})
