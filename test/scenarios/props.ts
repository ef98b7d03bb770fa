import { z } from 'zod'
import { ask } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'

export const minute = 60_000

/** A form that silence cannot answer, and one that it can. */
export const form = ask({ title: 'Which one?', fields: [{ name: 'choice', required: true }] })
export const formWithDefault = ask({
  title: 'Which one?',
  fields: [{ name: 'choice', required: true, default: 'blue' }],
})
export const chosen = { action: 'approve', data: { choice: 'red' } }

/** A tool that cannot be undone and needs approval each time. */
export function refund() {
  const paid: string[] = []
  const it = tool({
    name: 'payments.refund',
    input: z.object({ order: z.string() }),
    irreversible: true,
    approval: 'always',
    run: ({ order }) => {
      paid.push(order)
      return { refunded: order }
    },
  })
  return { tool: it, paid }
}
