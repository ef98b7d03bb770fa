import { isFault } from '../../faults/catalogue.ts'
import { contractMachine } from '../../machines/contract.ts'
import type { CallView } from '../../observation/session-state.ts'
import type { Evidence } from '../../runes/kinds/contract.ts'
import { createBatch } from '../batch.ts'
import { attempt } from '../commands/attempt.ts'
import { evidenceAdded } from '../contracts/openings.ts'
import { onItsOwn } from '../requests.ts'
import { evidenceOf, isMarked, readThrown } from '../thrown.ts'
import { returned } from '../tools/carry-out.ts'
import type { Tool } from '../tools/tool.ts'
import type { Engine } from './engine.ts'

interface Report {
  readonly session_id: string
  readonly tool: Tool
  readonly call: CallView
  /** One that crashed where no code could catch it has not returned: that says nothing about what happens yet. */
  readonly how: 'returned' | 'threw' | 'crashed'
  /** What it returned or threw. */
  readonly value: unknown
}

/**
 * Records what a tool says that was given up and has come back. Another worker may have the run by now, or the run may
 * be over, so this carries no fence: it is evidence, and moves nothing. False: it could not be recorded, and no other
 * process would know of it, so the tool has to count as at work.
 */
export async function recordReport(engine: Engine, report: Report): Promise<boolean> {
  const { session_id, call } = report
  try {
    const evidence = await evidenceIn(engine, report)
    await onItsOwn(() =>
      attempt<void>(engine, session_id, (state) => {
        const known = state.calls.get(call.call_id)
        if (known === undefined || !isOpen(known)) return { answer: () => {} }
        const batch = createBatch(state, engine.clock.now())
        evidenceAdded(batch, known, evidence)
        // What has been settled meanwhile needs no evidence.
        return { batch, read: [known.execution_id ?? ''], answer: () => {} }
      }),
    )
    return true
  } catch (error) {
    engine.warn('what a tool reported after it was given up could not be recorded', {
      execution_id: call.execution_id,
      error: readThrown(error, engine.redactor.redact).message,
    })
    // Where several processes share a store, they also see the tool's end without the log. A poisoned store records
    // nothing more: the next process finds the call as a crash would have left it, and asks.
    return !engine.isAlone || isFault(error, 'store_poisoned')
  }
}

/** Its outcome is not settled. What can be undone has failed with its timeout, unless it is asked about. */
function isOpen({ contract, irreversible, reason }: CallView): boolean {
  if (contract === null || contractMachine.states[contract].terminal) return false
  return irreversible || reason === 'outcome_unknown'
}

async function evidenceIn(engine: Engine, { tool, how, value }: Report): Promise<Evidence> {
  if (how !== 'returned') {
    const said = evidenceOf('tool', value, engine.redactor.redact)
    if (how === 'crashed') return said
    return { ...said, reported: isMarked(value, 'did_not_happen') ? 'did_not_happen' : 'failed' }
  }
  const came = await returned(tool, value, engine)
  const message = 'The tool returned after it was given up.'
  if (came.status !== 'success') return { source: 'tool', message, reported: 'done' }
  const { output, output_ref } = came
  return { source: 'tool', message, reported: 'done', result: output, ...(output_ref !== undefined && { output_ref }) }
}
