import { results } from '../support/text.ts'
import { processorTime } from '../support/usage.ts'

/** The order of the benchmark to this process. */
export const input = JSON.parse(process.argv[2])

/** A result of 1 kB. */
export const result = results()
/** The answer of the model: a call. */
export const answer = (i) => ({ role: 'assistant', call: { name: 'echo.it', input: { i } } })

/** Warms up, does the steps, and prints what they took. `more` adds figures afterwards. */
export async function measure(work, more = () => ({})) {
  const { steps, warm } = input
  if (warm > 0) await work(warm, 'warm')
  const used = processorTime()
  const began = performance.now()
  await work(steps, 'measured')
  const clock_ms = performance.now() - began
  const processor_ms = processorTime() - used
  process.stdout.write(`${JSON.stringify({ clock_ms, processor_ms, ...(await more()) })}\n`)
}
