import type { Json } from '../../../kernel/json.ts'
import { decisionsMarkdown, tapeMarkdown } from './decisions.ts'
import { genericMarkdown } from './generic.ts'
import { graphMarkdown } from './graph.ts'
import { failureMarkdown, questionsMarkdown } from './questions.ts'
import { reviewMarkdown } from './review.ts'

/** Those that people read first have a page of their own. */
const pages: Readonly<Record<string, (artifact: never) => string>> = {
  execution_graph: graphMarkdown,
  execution_graph_draft: graphMarkdown,
  review_pack: reviewMarkdown,
  rule_decisions: decisionsMarkdown,
  run_tape: tapeMarkdown,
  question_pack: questionsMarkdown,
  failure_pack: failureMarkdown,
}

/** The same artifact always gives the same page, so a page can be checked against its artifact. */
export function markdownOf(type: string, artifact: Json): string {
  const page = pages[type]
  return page === undefined ? genericMarkdown(type.replaceAll('_', ' '), artifact) : page(artifact as never)
}
