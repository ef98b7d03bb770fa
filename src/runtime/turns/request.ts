import type { Message } from '../../observation/dialogue.ts'
import type { ModelRequest, ToolDescription } from '../model.ts'

interface Parts {
  readonly instructions: string
  /** What was said and what came of it. Nothing else about an execution reaches a model. */
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDescription[]
  readonly memories: readonly string[]
}

/** What a consequence label means to whoever decides what to do next. */
const rules = `The outcome of each call begins with a label in brackets. SUCCESS: it happened. FAILED: it was tried and did not work; trying again may help. REJECTED: a person or a rule refused it; do not try it again in another guise. CANCELLED: it was given up. UNKNOWN: nobody can know whether it happened; do not repeat it. IRREVERSIBLE: it happened and cannot be undone; never do it a second time unless a person asks for it.`

/** The dialogue is handed on as it is, not copied: a long one costs no more than a short one. */
export function buildRequest({ instructions, messages, tools, memories }: Parts): ModelRequest {
  const told = tools.length === 0 ? [instructions] : [instructions, rules]
  return { instructions: told.filter((part) => part !== '').join('\n\n'), messages, tools, memories }
}
