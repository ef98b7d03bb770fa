import { randomUUID } from 'node:crypto'
import type { Context, PolicySet } from '@cedar-policy/cedar-wasm/nodejs'
import {
  type ConditionEngine,
  type RuleAnswer,
  type RuleCheck,
  type RuleEngine,
  type RuleRequest,
  type RuleSets,
  ruleVocabulary,
} from '../../coordinator/rules/engine.ts'
import { type Verdict, verdicts } from '../../coordinator/schemas/scalars.ts'
import type { Json } from '../../kernel/json.ts'
import { loadPeer, type Modules } from '../peer.ts'

type Cedar = Modules['@cedar-policy/cedar-wasm/nodejs']

/** Loads Cedar: a megabyte of WebAssembly, which it reads from a file of its own. */
export const loadCedar = () => loadPeer('@cedar-policy/cedar-wasm/nodejs')

type RuleError = RuleAnswer['errors'][number]

/** Cedar never frees a parsed rule set, so names are reused: this many rule sets stay parsed. */
const slots = 8
const vocabulary = 'statewright'

/**
 * Rules as Cedar policies: each is a `permit` that means "this rule fires". Cedar skips a policy that fails, so every
 * error is reported: a failing prohibition must not permit. Each engine has its own names for parsed rule sets.
 */
export function createCedarRuleEngine(cedar: Cedar): RuleEngine {
  const read = cedar.preparseSchema(vocabulary, ruleVocabulary)
  if (read.type === 'failure') throw new Error(`The rule vocabulary does not parse: ${read.errors[0]?.message}`)
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
      const validated = problemsOf(cedar, policies)
      if (validated.length > 0) return validated
      const parsed = cedar.preparsePolicySet(setName(slot, verdict), policies)
      return parsed.type === 'failure' ? unnamed(parsed.errors) : []
    })
    const entry = { slot, errors }
    prepared.set(rules.digest, entry)
    return entry
  }

  return {
    version: `cedar ${cedar.getCedarVersion()}`,
    check: (rule_id, policy) => checkPolicy(cedar, rule_id, policy),
    judge(rules, requests) {
      const { slot, errors } = prepare(rules)
      if (errors.length > 0) return requests.map(() => ({ matched: noneMatched(), errors }))
      return requests.map((request) => evaluate(cedar, (verdict) => setName(slot, verdict), request))
    },
  }
}

const noneMatched = (): Record<Verdict, string[]> => ({ deny: [], require_review: [], warn: [], allow: [] })

function evaluate(cedar: Cedar, setOf: (verdict: Verdict) => string, request: RuleRequest): RuleAnswer {
  const { agent_id, command_id, context } = request
  const errors: RuleError[] = []
  const matched = noneMatched()
  for (const verdict of verdicts) {
    const answer = cedar.statefulIsAuthorized({
      principal: { type: 'Agent', id: agent_id },
      action: { type: 'Action', id: 'plan' },
      resource: { type: 'Command', id: command_id },
      // biome-ignore lint/plugin: the package wants mutable arrays and changes none.
      context: context as unknown as Context,
      preparsedSchemaName: vocabulary,
      validateRequest: true,
      preparsedPolicySetId: setOf(verdict),
      entities: [],
    })
    if (answer.type === 'failure') errors.push(...unnamed(answer.errors))
    else {
      const { reason, errors: failed } = answer.response.diagnostics
      matched[verdict] = reason.toSorted()
      for (const { policyId, error } of failed) errors.push({ rule_id: policyId, message: error.message })
    }
  }
  const nameOf = ({ rule_id, message }: RuleError) => `${rule_id} ${message}`
  return { matched, errors: once(errors).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)) }
}

function checkPolicy(cedar: Cedar, rule_id: string, policy: string): RuleCheck {
  const parsed = cedar.policyToJson(policy)
  if (parsed.type === 'failure') return { annotations: null, problems: parsed.errors.map(({ message }) => message) }
  const problems = problemsOf(cedar, { staticPolicies: { [rule_id]: policy } }).map(({ message }) => message)
  if (parsed.json.effect !== 'permit')
    problems.push('its policy must be a permit, which here means "the rule fires"; the verdict says what that does')
  return { annotations: parsed.json.annotations ?? {}, problems }
}

const unnamed = (errors: readonly { readonly message: string }[]): readonly RuleError[] =>
  errors.map(({ message }) => ({ rule_id: null, message }))

/** A warning counts: a policy that can never fire protects nothing. A policy with an error shows only that. */
function problemsOf(cedar: Cedar, policies: PolicySet): RuleError[] {
  const answer = cedar.validate({ schema: ruleVocabulary, policies, validationSettings: { mode: 'strict' } })
  if (answer.type === 'failure') return once(unnamed(answer.errors))
  const { validationErrors: errors, validationWarnings: warnings } = answer
  const alone = warnings.filter(({ policyId }) => !errors.some((one) => one.policyId === policyId))
  return once(
    [...errors, ...alone].map(({ policyId, error }) => ({
      rule_id: policyId,
      message: error.help === null ? error.message : `${error.message} (${error.help})`,
    })),
  )
}

/** Cedar reports a mistake at each of its places, and a request once for each set of rules. */
function once(errors: readonly RuleError[]): RuleError[] {
  return [...new Map(errors.map((error) => [`${error.rule_id} ${error.message}`, error])).values()]
}

/** Conditions as Cedar expressions over `context`. An error is never an answer: Cedar itself would read it as no. */
export function createCedarConditionEngine(cedar: Cedar): ConditionEngine {
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

/** Cedar has neither null nor fractions. An entity stands for each: `has` sees it, and a rule that computes fails. */
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
