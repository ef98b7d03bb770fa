import { idOf } from '../checksum.ts'
import { answerGuards } from '../guards/awaiting-answers.ts'
import type { AuditDraft, Outcome, WaitingHandler } from '../handler.ts'
import type { AcceptedAnswer, AnswerConflict, Ports, Progress } from '../progress.ts'
import { defaultAnswers, readAnswers } from '../questions/answers.ts'
import { conflictsOf } from '../questions/conflicts.ts'
import { standingOf } from '../questions/standing.ts'
import { readGuards } from '../reading.ts'
import { adjudicate } from '../rules/adjudicate.ts'
import type { Settled } from '../rules/answers-in-force.ts'
import type { AnswerPack } from '../schemas/answer-pack.ts'
import type { QuestionPack } from '../schemas/question-pack.ts'

/** Deals with the next thing that arrived. The engine does not call it while nothing has. */
export const awaitingAnswers: WaitingHandler = (progress, ports) => {
  const { ledger, artifacts } = progress
  const arrived = ledger.arrived[ledger.read]
  const asked = artifacts.question_pack.at(-1)
  if (arrived === undefined || asked === undefined) throw new Error('Nothing has arrived, or nothing was asked.')

  if ('timed_out' in arrived) return timedOut(progress, asked, ports)
  if ('withdrawn' in arrived) return withdrawn(progress, asked)
  const read = readAnswers(arrived.answer_pack, asked)
  if (read.taken) return weigh(progress, asked, read.answers, read.pack, ports)
  const guards = readGuards(answerGuards, {
    problems: read.problems,
    unsettled: [],
    conflicts: [],
    returns: ledger.returns,
  })
  return {
    stays: true,
    ledger: {
      ...ledger,
      read: ledger.read + 1,
      refused: [...ledger.refused, { arrived: ledger.read, problems: read.problems, guards }],
    },
    audit: [received(`Refused: ${read.problems.map(({ message }) => message).join(' ')}`, 'warning', asked)],
  }
}

function timedOut(progress: Progress, asked: QuestionPack, ports: Ports): Outcome {
  const { answers, blocked } = defaultAnswers(asked)
  if (blocked.length === 0) return weigh(progress, asked, answers, null, ports)
  const { ledger } = progress
  return {
    trigger: 'timeout_no_fallback',
    guards: readGuards(answerGuards, { problems: [], unsettled: blocked, conflicts: [], returns: ledger.returns }),
    produced: [],
    ledger: { ...ledger, read: ledger.read + 1 },
    audit: [received('Time ran out.', 'warning', asked)],
    failure: {
      cause: 'timed_out',
      message: 'Nobody answered in time, and not every question has a default.',
      problems: blocked.map(({ key, question_id, default_strategy }) => ({
        code: 'timed_out',
        message: `${key} has no answer. ${default_strategy.explanation}`,
        refs: [question_id],
      })),
    },
  }
}

/** No default stands in: what the plan was for is over, and a plan for nothing is none. */
function withdrawn({ ledger }: Progress, asked: QuestionPack): Outcome {
  const { questions: unsettled } = asked
  return {
    trigger: 'timeout_no_fallback',
    guards: readGuards(answerGuards, { problems: [], unsettled, conflicts: [], returns: ledger.returns }),
    produced: [],
    ledger: { ...ledger, read: ledger.read + 1 },
    audit: [received('The questions were withdrawn.', 'warning', asked)],
    failure: {
      cause: 'questions_withdrawn',
      message: 'The questions were withdrawn: what the plan was for is over.',
      problems: unsettled.map(({ key, question_id }) => ({
        code: 'questions_withdrawn',
        message: `${key} was not answered before it was withdrawn.`,
        refs: [question_id],
      })),
    },
  }
}

/** Lets the rules look at the plan as the answers would make it. */
function weigh(
  progress: Progress,
  asked: QuestionPack,
  answers: readonly AcceptedAnswer[],
  pack: AnswerPack | null,
  ports: Ports,
): Outcome {
  const { ledger, artifacts } = progress
  const { given, governed } = standingOf(progress, ports)
  const round = artifacts.rule_decisions.length + 1
  const fresh = answers.flatMap(({ question_id, key: _, ...answer }): Settled[] => {
    const question = asked.questions.find((one) => one.question_id === question_id)
    return question === undefined ? [] : [{ question, ...answer }]
  })
  const settled = [...governed.settled, ...fresh]
  const before = artifacts.rule_decisions.at(-1)?.decisions ?? []
  const after = adjudicate(given.steps, given, settled, round, ports)
  const conflicts = conflictsOf(fresh, governed.settled, before, after.decisions, given, ledger.returns + 1, ports)
  const guards = readGuards(answerGuards, { problems: [], unsettled: [], conflicts, returns: ledger.returns })
  const guilty = new Set(conflicts.map(({ question_id }) => question_id))
  const standing = answers.filter(({ question_id }) => !guilty.has(question_id))
  const read = { ...ledger, read: ledger.read + 1, accepted: [...ledger.accepted, ...standing] }
  const taken = pack === null ? [] : [{ type: 'answer_pack' as const, artifact: pack }]
  const noted = received(
    pack === null ? 'Time ran out; the defaults stand.' : `${answers.length} answers arrived.`,
    'info',
    asked,
  )

  if (conflicts.length === 0) {
    const resolved: AuditDraft[] =
      ledger.conflicts.length === 0
        ? []
        : [
            {
              event_type: 'conflict_resolved',
              severity: 'info',
              message: 'The rules let the new answers stand.',
              refs: [asked.pack_id],
            },
          ]
    return {
      trigger: 'answers_received',
      guards,
      produced: [
        ...taken,
        {
          type: 'rule_decisions',
          artifact: {
            decisions_id: idOf('decs', [progress.run_id, round], ports.sha256),
            schema_version: '1.0.0',
            round,
            decisions: [...after.decisions],
          },
        },
      ],
      evaluations: after.evaluations,
      ledger: read,
      audit: [noted, ...resolved],
    }
  }
  const clashing = conflicts.map(
    (conflict): AuditDraft => ({
      event_type: 'conflict_detected',
      severity: 'warning',
      message: clash(conflict),
      refs: [conflict.question_id, conflict.step_id],
    }),
  )
  const returned = { ...read, conflicts: [...ledger.conflicts, ...conflicts] }
  const left = guards.some(({ guard_name, passed }) => guard_name === 'conflict_rounds_left' && passed)
  if (left)
    return {
      trigger: 'answer_conflicts',
      guards,
      produced: taken,
      ledger: { ...returned, returns: ledger.returns + 1 },
      audit: [noted, ...clashing],
    }
  return {
    trigger: 'timeout_no_fallback',
    guards,
    produced: taken,
    ledger: returned,
    audit: [noted, ...clashing],
    failure: {
      cause: 'conflict_limit_reached',
      message: `The answers have conflicted with the rules ${ledger.returns + 1} times.`,
      problems: returned.conflicts.map((conflict) => ({
        code: 'answer_conflict',
        message: `Round ${conflict.round}: ${clash(conflict)}`,
        refs: [conflict.question_id, conflict.step_id],
      })),
    },
  }
}

function clash({ key, value, step_id, reason }: AnswerConflict): string {
  return `${key}=${value} does not go with the rules over ${step_id}: ${reason}`
}

function received(message: string, severity: AuditDraft['severity'], { pack_id }: QuestionPack): AuditDraft {
  return { event_type: 'answer_received', severity, message, refs: [pack_id] }
}
