/** An intent that is complete by its schema; its names must be in the registry. */
export function intentTemplate(now: string): string {
  return `# An intent proposes; it never acts. Nothing in it may carry something to execute:
# a key such as execute, run, shell or script, at any depth, aborts the plan.
id: intent_describe_me            # intent_ and 6 to 64 of a-z, 0-9, _
type: execution_intent
title: Say in a few words what this is
version: 1.0.0
status: proposed                  # draft, proposed, approved, rejected or superseded
created_at: ${now}

lineage:
  introduced_in: 0.9.1
  derived_from: []
  supersedes: []

scope:
  project_id: my_project
  repo_root: .                    # scanned for facts unless --facts names something else
  targets:
    files: []
    modules: []
    areas: [backend]              # frontend, backend, infra, docs, tests, ops, security, data

objective:
  goal: What shall be the case afterwards.
  success_criteria:
    - How anyone can tell that it is.
  non_goals: []

# Workflows, agents and commands are named, never carried: each must be in the
# registry. A version pins what you saw; without one the active version counts.
selected_workflows:
  - workflow_id: wf_change
    phases: [analysis]            # setup, analysis, design, implementation, validation, review, release, operations, postmortem

selected_agents:
  - agent_id: agent_reader
    role: reader
    responsibilities:
      - Look at what is there.

planned_commands:
  - command_id: cmd_read
    intent: Find every place that uses it.
    effects: [read]               # read, write, network, deploy, security, data
    risk_level: low               # low, medium, high, critical; the registry may say more, never less
    evidence_refs: [my_ticket]    # an action without evidence is blocked
    # step_id: read_again         # a name of its own, where a command is used twice
    # depends_on: [other_step]

# open_questions:                 # what you know to be open
#   - key: target
#     type: blocker               # clarification, blocker, optimization, risk_mitigation
#     blocking_level: high        # critical, high, medium, low
#     question_text: Where shall it go first?
#     context: Both are possible.
#     evidence_refs: [my_ticket]
#     suggested_answers:
#       - { value: staging, answer_text: Staging., rationale: It is safe. }
#       - { value: production, answer_text: Production., rationale: It is wanted now. }
#     default_strategy: { action: use, value: staging, explanation: Staging is safe. }

interaction:
  mode: interactive               # interactive, semi_auto (blockers only) or full_auto (never asks; low and medium risk only)
  question_budget: 5
  question_policy: conceptual_only # conceptual_only, blockers_only or never

risk:
  overall: low
  drivers:
    - What could go wrong.
  requires_review: []             # security, data, release, architecture, cost, compliance; needed if anything writes or deploys

budgets:
  max_files: 10
  max_commits: 1
  max_tokens: 100000
  max_cost_usd: 1

evidence_refs: [my_ticket]

constraints:
  execution: forbidden
  no_fabrication: true
  registry_only: true
  lock_scope: { mode: none, paths: [] }

audit:
  created_by: your name
  source: human                   # human, statewright or imported
  checksum: ''                    # left empty, it is sealed when it is taken in
`
}
