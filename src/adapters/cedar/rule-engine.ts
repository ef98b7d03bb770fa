import { randomUUID } from 'node:crypto'
import type { CheckParseAnswer, Context, PolicySet, ValidationAnswer } from '@cedar-policy/cedar-wasm/nodejs'
import {
  type RuleAnswer,
  type RuleCheck,
  type RuleEngine,
  type RuleRequest,
  type RuleSets,
  ruleVocabulary,
} from '../../coordinator/rules/engine.ts'
import { type Verdict, verdicts } from '../../coordinator/schemas/scalars.ts'
import { cedar } from './cedar.ts'

type RuleError = RuleAnswer['errors'][number]

/** Cedar keeps what it has parsed for ever, so names are used again: this many rule sets stay parsed. */
const slots = 8
const vocabulary = 'statewright'

/**
 * Rules as Cedar policies. Every policy is a `permit` that means "this rule fires". Cedar passes over a policy that
 * fails while it is evaluated, so a failing prohibition would read as consent: here every error is reported. Names of
 * parsed rule sets are those of the whole process: each engine uses its own, so that two engines never judge by each
 * other's rules.
 */
export function createCedarRuleEngine(): RuleEngine {
  accepted(cedar.preparseSchema(vocabulary, ruleVocabulary))
  const prepared = new Map<string, { slot: number; errors: readonly RuleError[] }>()
  const engine = randomUUID()
  const setName = (slot: number, verdict: Verdict) => `${engine}_${slot}_${verdict}`
  let next = 0

  function prepare(rules: RuleSets) {
    const known = prepared.get(rules.digest)
    if (known !== undefined) return known
    const slot = next++ % slots
    for (const [digest, entry] of prepared) if (entry.slot === slot) prepared.delete(digest)
    const errors = verdicts.flatMap((verdict) => {
      const policies = { staticPolicies: { ...rules.policies[verdict] } }
      const validated = problemsOf(
        cedar.validate({ schema: ruleVocabulary, policies, validationSettings: { mode: 'strict' } }),
      )
      return validated.length > 0 ? validated : parse(setName(slot, verdict), policies)
    })
    const entry = { slot, errors }
    prepared.set(rules.digest, entry)
    return entry
  }

  return {
    version: `cedar ${cedar.getCedarVersion()}`,
    check: checkPolicy,
    judge(rules, requests) {
      const { slot, errors } = prepare(rules)
      if (errors.length > 0) return requests.map(() => ({ matched: nothing, errors }))
      return requests.map((request) => evaluate((verdict) => setName(slot, verdict), request))
    },
  }
}

const nothing = { deny: [], require_review: [], warn: [], allow: [] } as const

function evaluate(setOf: (verdict: Verdict) => string, { agent_id, command_id, context }: RuleRequest): RuleAnswer {
  const errors: RuleError[] = []
  const matched: Record<Verdict, string[]> = { deny: [], require_review: [], warn: [], allow: [] }
  for (const verdict of verdicts) {
    const answer = cedar.statefulIsAuthorized({
      principal: { type: 'Agent', id: agent_id },
      action: { type: 'Action', id: 'plan' },
      resource: { type: 'Command', id: command_id },
      // The package wants mutable arrays and changes none.
      context: context as unknown as Context,
      preparsedSchemaName: vocabulary,
      validateRequest: true,
      preparsedPolicySetId: setOf(verdict),
      entities: [],
    })
    if (answer.type === 'failure') errors.push(...answer.errors.map(({ message }) => ({ rule_id: null, message })))
    else {
      const { reason, errors: failed } = answer.response.diagnostics
      matched[verdict] = reason.toSorted()
      for (const { policyId, error } of failed) errors.push({ rule_id: policyId, message: error.message })
    }
  }
  return { matched, errors: once(errors).sort(byRule) }
}

function checkPolicy(rule_id: string, policy: string): RuleCheck {
  const parsed = cedar.policyToJson(policy)
  if (parsed.type === 'failure') return { annotations: null, problems: parsed.errors.map(({ message }) => message) }
  const problems = problemsOf(
    cedar.validate({
      schema: ruleVocabulary,
      policies: { staticPolicies: { [rule_id]: policy } },
      validationSettings: { mode: 'strict' },
    }),
  ).map(({ message }) => message)
  if (parsed.json.effect !== 'permit')
    problems.push('its policy must be a permit, which here means "the rule fires"; the verdict says what that does')
  return { annotations: parsed.json.annotations ?? {}, problems }
}

function parse(name: string, policies: PolicySet): readonly RuleError[] {
  const answer = cedar.preparsePolicySet(name, policies)
  return answer.type === 'success' ? [] : answer.errors.map(({ message }) => ({ rule_id: null, message }))
}

/**
 * A warning counts: Cedar warns of a policy that can never fire, and such a rule protects nothing. Beside an error of the
 * same policy it says nothing new.
 */
function problemsOf(answer: ValidationAnswer): RuleError[] {
  if (answer.type === 'failure') return once(answer.errors.map(({ message }) => ({ rule_id: null, message })))
  const { validationErrors: errors, validationWarnings: warnings } = answer
  const alone = warnings.filter(({ policyId }) => !errors.some((one) => one.policyId === policyId))
  return once(
    [...errors, ...alone].map(({ policyId, error }) => ({
      rule_id: policyId,
      message: error.help === null ? error.message : `${error.message} (${error.help})`,
    })),
  )
}

/** Cedar reports a mistake at each place where it stands, and a request once for each set of rules. */
function once(errors: readonly RuleError[]): RuleError[] {
  return [...new Map(errors.map((error) => [`${error.rule_id} ${error.message}`, error])).values()]
}

function byRule(a: RuleError, b: RuleError): number {
  const [left, right] = [`${a.rule_id} ${a.message}`, `${b.rule_id} ${b.message}`]
  return left < right ? -1 : left > right ? 1 : 0
}

function accepted(answer: CheckParseAnswer) {
  if (answer.type === 'failure') throw new Error(`The rule vocabulary does not parse: ${answer.errors[0]?.message}`)
}
