import type { Verdict } from '../schemas/scalars.ts'
import type { RuleContext } from './vocabulary.ts'

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

export interface RuleAnswer {
  /** The ids that fired, sorted. */
  readonly matched: { readonly [V in Verdict]: readonly string[] }
  /** Anything that kept a rule from being evaluated. One of these makes the request undecidable. */
  readonly errors: readonly { readonly rule_id: string | null; readonly message: string }[]
}
