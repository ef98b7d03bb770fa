import { type DestinationStream, type Logger, pino } from 'pino'
import { printableJson } from '../kernel/printable.ts'
import type { Redactor } from '../runelog/redactor.ts'

/** One line of JSON per request and per failure. Registered secrets are taken out of each line before it is written. */
export function createLogger(redactor: Pick<Redactor, 'clean'>, stream: DestinationStream, level = 'info'): Logger {
  const clean = (line: string) => `${printableJson(redactor.clean(JSON.parse(line)).value)}\n`
  return pino(
    {
      base: null,
      level,
      redact: { paths: ['authorization', '*.authorization', 'token', '*.token', '*.headers'], censor: '[secret]' },
      hooks: { streamWrite: clean },
    },
    stream,
  )
}
