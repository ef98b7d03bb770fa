import type { RuleDecisions } from '../../schemas/rule-decision.ts'
import type { RunTape } from '../../schemas/run-tape.ts'
import { bullets, page, plain, table } from './text.ts'

export function decisionsMarkdown({ decisions, round }: RuleDecisions): string {
  return page(
    `# Verdicts, round ${round}`,
    table(
      ['Step', 'Command', 'Verdict', 'Risk', 'Why'],
      decisions.map((d) => [
        plain(d.step_id),
        plain(d.command_id),
        d.decision ?? '**undecidable**',
        d.risk_level,
        plain(d.reason),
      ]),
    ),
    '## Rules that spoke',
    table(
      ['Step', 'Rule', 'Version', 'Verdict', 'Severity', 'Reason'],
      decisions.flatMap((d) =>
        d.matched_rules.map((r) => [
          plain(d.step_id),
          plain(r.rule_id),
          r.version,
          r.verdict,
          r.severity,
          plain(r.reason),
        ]),
      ),
    ),
  )
}

export function tapeMarkdown(tape: RunTape): string {
  return page(
    '# Run tape',
    `${tape.run_id}, ${tape.state}${tape.is_closed ? ', closed' : ''}.`,
    table(
      ['#', 'From', 'To', 'Trigger', 'Guards', 'Outputs'],
      tape.entries.map((e) => [
        String(e.sequence),
        plain(e.from_state),
        plain(e.to_state),
        plain(e.trigger),
        e.guards_evaluated.map(({ guard_name, passed }) => `${passed ? '✓' : '✗'} ${plain(guard_name)}`).join('<br>'),
        e.outputs_produced.map(({ artifact_type }) => plain(artifact_type)).join('<br>'),
      ]),
    ),
    '## Decisions',
    bullets(
      tape.decisions.map(
        ({ at_state, decision_type, rationale, outcome }) =>
          `${plain(at_state)}, ${plain(decision_type)}: ${plain(rationale)} → ${plain(outcome)}`,
      ),
    ),
  )
}
