import type { Json } from '../../kernel/json.ts'
import type { Message } from '../../observation/dialogue.ts'
import { writtenArguments } from '../written-arguments.ts'

interface Call {
  readonly name: string
  readonly arguments: Json
}

/** So many rounds in a row with the same call are a loop. */
const limit = 3

/**
 * Whether one of these calls was also made in each of the two answers before, with nothing but results in between.
 * `calls` are as they were read, defaults filled in, since that is how the dialogue has them. Looks at the end of the
 * dialogue only, however long it is.
 */
export function isRepeated(messages: readonly Message[], calls: readonly Call[], textOf: (value: Json) => string) {
  let repeated = new Set(calls.map((call) => identity(call, textOf)))
  let rounds = 1
  for (let i = messages.length - 1; i >= 0 && rounds < limit && repeated.size > 0; i--) {
    const message = messages[i]
    if (message?.role === 'tool') continue
    if (message?.role !== 'assistant') return false
    repeated = repeated.intersection(new Set(message.calls.map((call) => identity(call, textOf))))
    rounds++
  }
  return rounds === limit && repeated.size > 0
}

/** Arguments that came as text are compared by what they say, not by how they are spaced. */
function identity({ name, arguments: args }: Call, textOf: (value: Json) => string): string {
  return textOf([name.toWellFormed(), typeof args === 'string' ? said(args) : args])
}

function said(text: string): Json {
  const read = writtenArguments(text)
  return 'value' in read ? read.value : read.written
}
