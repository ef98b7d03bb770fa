import { readAnswers } from '../../coordinator/questions/answers.ts'
import { type QuestionPack, questionPack } from '../../coordinator/schemas/questions.ts'
import type { Json } from '../../kernel/json.ts'
import type { Beside } from '../../runtime/beside.ts'

/** Answers are refused before they are recorded: what is on record can always be taken. */
export const checkPack: Beside['checkPack'] = (request, reply) => {
  const asked = (request as { question_pack?: Json }).question_pack
  const pack = questionPack.safeParse(asked)
  if (!pack.success)
    return { problems: [{ pointer: '', problem: 'The questions are redacted and cannot be answered.' }] }
  const read = readAnswers(reply, pack.data satisfies QuestionPack)
  if (read.taken) return { reply }
  return {
    problems: read.problems.map(({ path, message }) => ({
      pointer:
        path === undefined || path.startsWith('(')
          ? ''
          : `/${path.replaceAll(/\[(\d+)\]/g, '.$1').replaceAll('.', '/')}`,
      problem: message,
    })),
  }
}
