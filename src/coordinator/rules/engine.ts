import type { Verdict } from '../schemas/scalars.ts'

/**
 * What the Coordinator needs from a rule language. The implementation is passed
 * in; it must be deterministic, and it must never pass over a rule in silence.
 */
export interface RuleEngine {
  /** Name and version: part of every decision and of the lineage. */
  readonly version: string
  /** Checks one rule strictly against `ruleVocabulary`. Without problems, it can be evaluated. */
  check(rule_id: string, policy: string): RuleCheck
  /** Answers the requests in order, each against all rules of all sets. */
  judge(rules: RuleSets, requests: readonly RuleRequest[]): readonly RuleAnswer[]
}

export interface RuleCheck {
  /** Null when it cannot even be read. */
  readonly annotations: Readonly<Record<string, string | undefined>> | null
  readonly problems: readonly string[]
}

/** The rules in force, one set for each verdict. */
export interface RuleSets {
  /** Names the content, so that an engine may keep what it has parsed. */
  readonly digest: string
  readonly policies: { readonly [V in Verdict]: Readonly<Record<string, string>> }
}

export interface RuleRequest {
  readonly agent_id: string
  readonly command_id: string
  readonly context: RuleContext
}

/** What a rule can see. `ruleVocabulary` declares the same to the rule language. */
export interface RuleContext {
  readonly step: string
  readonly mode: string
  readonly workflow: string
  readonly phase: string
  readonly role: string
  readonly effects: readonly string[]
  readonly tools: readonly string[]
  /** 0 low, 1 medium, 2 high, 3 critical. */
  readonly risk: number
  readonly overall_risk: number
  readonly irreversible: boolean
  readonly has_rollback: boolean
  readonly evidence_count: number
  readonly areas: readonly string[]
  readonly target_files: number
  readonly requires_review: readonly string[]
  readonly risk_profile: string
  readonly allow_destructive: boolean
  readonly allow_bulk_changes: boolean
  readonly provider: string
  readonly locality: string
  readonly languages: readonly string[]
  readonly has_tests: boolean
  readonly has_ci: boolean
  readonly has_owners: boolean
  readonly memory_count: number
  /** Answers that bear on this step, each as `key=value`. */
  readonly answers: readonly string[]
}

export interface RuleAnswer {
  /** The ids that fired, sorted. */
  readonly matched: { readonly [V in Verdict]: readonly string[] }
  /** Anything that kept a rule from being evaluated. One of these makes the request undecidable. */
  readonly errors: readonly { readonly rule_id: string | null; readonly message: string }[]
}

/** The schema, in Cedar's words, that every rule is checked against. */
export const ruleVocabulary = `
entity Agent;
entity Command;
action "plan" appliesTo {
  principal: [Agent],
  resource: [Command],
  context: {
    step: String,
    mode: String,
    workflow: String,
    phase: String,
    role: String,
    effects: Set<String>,
    tools: Set<String>,
    risk: Long,
    overall_risk: Long,
    irreversible: Bool,
    has_rollback: Bool,
    evidence_count: Long,
    areas: Set<String>,
    target_files: Long,
    requires_review: Set<String>,
    risk_profile: String,
    allow_destructive: Bool,
    allow_bulk_changes: Bool,
    provider: String,
    locality: String,
    languages: Set<String>,
    has_tests: Bool,
    has_ci: Bool,
    has_owners: Bool,
    memory_count: Long,
    answers: Set<String>,
  },
};
`
