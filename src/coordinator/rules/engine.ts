import type { Json } from '../../kernel/json.ts'
import type { Verdict } from '../schemas/scalars.ts'

interface Types {
  readonly String: string
  readonly Long: number
  readonly Bool: boolean
  readonly 'Set<String>': readonly string[]
}

type Attribute = { readonly type: keyof Types; readonly meaning: string }

/** Everything that a rule can read of a step. The schema for Cedar, the type and the reference page follow from it. */
// biome-ignore format: tables are audited by eye
export const ruleAttributes = {
  step:               { type: 'String',      meaning: 'The step: `step_id` of the planned command, else its `command_id`.' },
  mode:               { type: 'String',      meaning: 'The mode in force: `interactive`, `semi_auto` or `full_auto`, the stricter of policy and intent.' },
  workflow:           { type: 'String',      meaning: 'The workflow that the step belongs to.' },
  phase:              { type: 'String',      meaning: 'The phase of that workflow.' },
  role:               { type: 'String',      meaning: 'The role in which the agent of the step works.' },
  effects:            { type: 'Set<String>', meaning: 'What the step does: `read`, `write`, `network`, `deploy`, `security`, `data`. Those of the registry and of the intent together.' },
  tools:              { type: 'Set<String>', meaning: 'The tools that the registry gives the command.' },
  risk:               { type: 'Long',        meaning: 'The risk of the step: 0 low, 1 medium, 2 high, 3 critical. Never below that of the registry; answers may restate it.' },
  overall_risk:       { type: 'Long',        meaning: 'The risk of the intent as it was submitted, on the same scale: the highest of what it declares and of all its commands.' },
  irreversible:       { type: 'Bool',        meaning: 'Whether the registry calls the command irreversible.' },
  has_rollback:       { type: 'Bool',        meaning: 'Whether the registry says how the command is undone.' },
  evidence_count:     { type: 'Long',        meaning: 'How many different `evidence_refs` the step has.' },
  areas:              { type: 'Set<String>', meaning: 'The areas that the intent targets.' },
  target_files:       { type: 'Long',        meaning: 'How many different files the intent targets.' },
  requires_review:    { type: 'Set<String>', meaning: 'The categories of review that the intent requires.' },
  risk_profile:       { type: 'String',      meaning: '`risk_profile` of the policy: `safe`, `aggressive_safe` or `aggressive`.' },
  allow_destructive:  { type: 'Bool',        meaning: '`constraints.allow_destructive` of the policy.' },
  allow_bulk_changes: { type: 'Bool',        meaning: '`constraints.allow_bulk_changes` of the policy.' },
  provider:           { type: 'String',      meaning: 'The provider of the model that the agent of the step thinks with.' },
  locality:           { type: 'String',      meaning: 'Where that model runs: `local` or `remote`.' },
  languages:          { type: 'Set<String>', meaning: 'The languages that the fact pack found.' },
  has_tests:          { type: 'Bool',        meaning: 'Whether the fact pack found tests.' },
  has_ci:             { type: 'Bool',        meaning: 'Whether the fact pack found a pipeline.' },
  has_owners:         { type: 'Bool',        meaning: 'Whether the fact pack found owners.' },
  memory_count:       { type: 'Long',        meaning: 'How many memories the memory pack has.' },
  answers:            { type: 'Set<String>', meaning: 'Answers and defaults that bear on the step, each as `key=value`: the value that was chosen, the words of a text, the canonical JSON of data. Plain members of data are there as `key.member=value`.' },
} as const satisfies Readonly<Record<string, Attribute>>

type Attributes = typeof ruleAttributes

/** The attributes of one step, typed as in `ruleAttributes`. */
export type RuleContext = { readonly [A in keyof Attributes]: Types[Attributes[A]['type']] }

/** The schema, in Cedar's words, that every rule is checked against. */
export const ruleVocabulary = `entity Agent;
entity Command;
action "plan" appliesTo {
  principal: [Agent],
  resource: [Command],
  context: {
${Object.entries(ruleAttributes)
  .map(([name, { type }]) => `    ${name}: ${type},`)
  .join('\n')}
  },
};
`

/** The rule language. An implementation is deterministic and ignores no rule silently. */
export interface RuleEngine {
  /** Name and version: part of every decision and of the lineage. */
  readonly version: string
  /** Checks one rule strictly against `ruleVocabulary`. Without problems, it can be evaluated. */
  check(rule_id: string, policy: string): RuleCheck
  /** Answers the requests in order, each against all rules of all sets. */
  judge(rules: RuleSets, requests: readonly RuleRequest[]): readonly RuleAnswer[]
}

/** The result of checking a rule. */
export interface RuleCheck {
  /** The annotations of the rule. Null: it cannot be parsed. */
  readonly annotations: Readonly<Record<string, string | undefined>> | null
  /** The problems of the rule. Empty: it can be evaluated. */
  readonly problems: readonly string[]
}

/** The rules in force, one set for each verdict. */
export interface RuleSets {
  /** Names the content, so that an engine may keep what it has parsed. */
  readonly digest: string
  /** The text of each rule by its id, for each verdict. */
  readonly policies: { readonly [V in Verdict]: Readonly<Record<string, string>> }
}

/** One step to judge. */
export interface RuleRequest {
  /** The agent that the step is for. */
  readonly agent_id: string
  /** The command that the step calls. */
  readonly command_id: string
  /** The attributes that rules can read. */
  readonly context: RuleContext
}

/** The rules that fired for one request. */
export interface RuleAnswer {
  /** The ids that fired, sorted. */
  readonly matched: { readonly [V in Verdict]: readonly string[] }
  /** Anything that kept a rule from being evaluated. One of these makes the request undecidable. */
  readonly errors: readonly { readonly rule_id: string | null; readonly message: string }[]
}

/** The condition of a step: a rule over the results of earlier steps, or words that someone has to decide. */
type Condition = { readonly rule: string } | { readonly words: string }

const prefix = 'rule:'

/** A condition that begins with `rule:` is an expression of the rule language. Everything else is words. */
export function readCondition(text: string): Condition {
  const trimmed = text.trim()
  return trimmed.startsWith(prefix) ? { rule: trimmed.slice(prefix.length).trim() } : { words: trimmed }
}

/** Evaluates conditions that are rules. An implementation is deterministic. */
export interface ConditionEngine {
  /** Name and version: part of every decision. */
  readonly version: string
  /** Returns the problem of a rule. Undefined: it can be evaluated. */
  check(rule: string): string | undefined
  /** Returns a problem for a rule that fails while it is evaluated, such as one that reads a missing result. */
  evaluate(rule: string, context: ConditionContext): { readonly holds: boolean } | { readonly problem: string }
}

/** The values that a rule can read: the steps before its own, by their ids. */
export interface ConditionContext {
  readonly tasks: Readonly<Record<string, ConditionTask>>
}

/** A step that ended before the condition is evaluated. */
export interface ConditionTask {
  /** `completed`, `failed` or `skipped`. */
  readonly state: string
  /** The result as text. A step that did not complete has none. */
  readonly result?: string
  /** The result as JSON, if its text is JSON. */
  readonly json?: Json
}
