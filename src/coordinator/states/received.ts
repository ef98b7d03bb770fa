import type { Handler } from '../handler.ts'

/** The run id and the first tape entry were made on arrival; nothing is asked of an intent before it is checked. */
export const received: Handler = () => ({
  trigger: 'intent_accepted',
  guards: [],
  produced: [],
  audit: [{ event_type: 'run_started', severity: 'info', message: 'The intent was received.', refs: [] }],
})
