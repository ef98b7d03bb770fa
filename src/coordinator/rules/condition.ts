import type { Json } from '../../kernel/json.ts'

/** The condition of a step: a rule over the results of earlier steps, or words that someone has to decide. */
type Condition = { readonly rule: string } | { readonly words: string }

const prefix = 'rule:'

/** A condition that begins with `rule:` is an expression of the rule language. Everything else is words. */
export function readCondition(text: string): Condition {
  const trimmed = text.trim()
  return trimmed.startsWith(prefix) ? { rule: trimmed.slice(prefix.length).trim() } : { words: trimmed }
}

/** What it takes to decide conditions that are rules. The implementation is passed in, and must be deterministic. */
export interface ConditionEngine {
  /** Name and version: part of every decision. */
  readonly version: string
  /** What is wrong with a rule. Undefined: it can be evaluated. */
  check(rule: string): string | undefined
  /** A rule that fails while it is evaluated, such as one that reads a result that is not there, has a problem and no answer. */
  evaluate(rule: string, context: ConditionContext): { readonly holds: boolean } | { readonly problem: string }
}

/** What a rule can see: the steps before its own, by their ids. */
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
