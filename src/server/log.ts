import { type DestinationStream, type Logger, pino } from 'pino'
import type { Json } from '../kernel/json.ts'

/** One line of JSON per request and per failure. Registered secrets are taken out of each line before it is written. */
export function createLogger(clean: (value: Json) => Json, stream: DestinationStream): Logger {
  return pino(
    {
      base: null,
      redact: { paths: ['authorization', '*.authorization', 'token', '*.token', '*.headers'], censor: '[secret]' },
      hooks: { streamWrite: (line) => `${JSON.stringify(clean(JSON.parse(line)))}\n` },
    },
    stream,
  )
}
