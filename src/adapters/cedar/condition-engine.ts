import type { Context } from '@cedar-policy/cedar-wasm/nodejs'
import type { ConditionEngine } from '../../coordinator/rules/condition.ts'
import type { Json } from '../../kernel/json.ts'
import { cedar } from './cedar.ts'

/** Conditions as Cedar expressions over `context`. An error is never an answer: Cedar itself would read it as no. */
export function createCedarConditionEngine(): ConditionEngine {
  return {
    version: `cedar ${cedar.getCedarVersion()}`,
    check(rule) {
      const parsed = cedar.policyToJson(policyOf(rule))
      return parsed.type === 'failure' ? parsed.errors.map(({ message }) => message).join('; ') : undefined
    },
    evaluate(rule, context) {
      const answer = cedar.isAuthorized({
        principal: { type: 'Goal', id: 'goal' },
        action: { type: 'Action', id: 'take' },
        resource: { type: 'Task', id: 'task' },
        context: recordOf({ ...context }) as Context,
        policies: { staticPolicies: { condition: policyOf(rule) } },
        entities: [],
      })
      if (answer.type === 'failure') return { problem: answer.errors.map(({ message }) => message).join('; ') }
      const { decision, diagnostics } = answer.response
      const [failed] = diagnostics.errors
      return failed === undefined ? { holds: decision === 'allow' } : { problem: failed.error.message }
    },
  }
}

/** The line break keeps a comment at the end of the rule from hiding the brace. */
const policyOf = (rule: string) => `permit (principal, action, resource) when { ${rule}\n};`

/**
 * Cedar has neither null nor fractions. A name stands for each: it is there for `has` and `isEmpty()`, and a rule that
 * computes with it fails.
 */
function cedarValue(value: Json): Json {
  if (value === null || (typeof value === 'number' && !Number.isSafeInteger(value)))
    return { __entity: { type: 'Unreadable', id: String(value) } }
  if (Array.isArray(value)) return value.map(cedarValue)
  return typeof value === 'object' ? recordOf(value) : value
}

/** A key that Cedar reads as an escape, such as `__entity`, is left out: results are data. */
function recordOf(record: object): Json {
  const known = Object.entries(record).filter(([key]) => !key.startsWith('__'))
  return Object.fromEntries(known.map(([key, value]) => [key, cedarValue(value as Json)]))
}
