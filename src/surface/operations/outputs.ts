import { z } from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { outputKey, outputs } from '../../runtime/models/outputs.ts'
import { defineOperation } from '../operation.ts'

export const getOutput = defineOperation({
  name: 'get_output',
  route: 'GET /api/outputs/{ref}',
  scope: 'read',
  summary: 'The whole of an output that was too long for the model, by the reference in its result.',
  returns: z.object({ ref: z.string(), text: z.string() }),
  async run({ output, runelog }, { params: { ref } }) {
    const known = await runelog.rows(outputs, { prefix: outputKey(ref), limit: 1 })
    const text = known.length === 0 ? undefined : await output(ref)
    if (text === undefined) throw faults.not_found({ what: 'output', id: ref })
    return { ref, text }
  },
})
