import { faults } from '../../faults/catalogue.ts'
import { type ContractHistory, consequenceView, snapshot, transitionRecords } from '../../observation/contract.ts'
import { createGraph, createTimeline } from '../../observation/graph-state.ts'
import { abandonedBy } from '../../observation/unsettled.ts'
import { inSlices } from '../../runelog/slices.ts'
import { refuseUnknownAgent } from '../../runtime/commands/submit.ts'
import { outputKey, outputs } from '../../runtime/models/summaries.ts'
import { contractEndpoints } from '../../wire/contract.ts'
import type { Backend } from '../backend.ts'
import { leftIn } from '../cards.ts'
import { defineLook, defineOperation } from '../operation.ts'

/** Reads all contracts of a session with their moves. */
export const getTimeline = defineLook({
  ...contractEndpoints.getTimeline,
  summary: 'All contracts of a session and all their moves, merged by time.',
  async look({ views, now }, { params: { session_id } }) {
    const { state, steps, histories } = await views.of(session_id)
    const seen = [...histories.values()]
    const at = now()
    if (histories.size === 0) throw faults.not_found({ what: 'execution in the session', id: session_id })
    return {
      revision: `${state.event_id}-${at}`,
      async answer() {
        const growing = createTimeline(session_id, at)
        for await (const slice of inSlices(seen)) for (const history of slice) growing.addContract(history)
        for await (const slice of inSlices(steps)) for (const rune of slice) growing.addMove(rune)
        return growing.timeline()
      },
    }
  },
})

/** Reads where a contract stands. */
export const getSnapshot = defineLook({
  ...contractEndpoints.getSnapshot,
  summary: 'The state of one contract.',
  async look(backend, { params: { execution_id } }) {
    const { revision, history, session_id } = await historyOf(backend, execution_id)
    const at = backend.now()
    const seen = snapshot(history, at)
    const left = seen.current_status === 'running' ? await leftOf(backend, session_id, history) : null
    return { revision: `${revision}-${at}`, answer: () => ({ ...seen, abandoned: left && abandonedBy(left) }) }
  },
})

/** Reads what a contract changed. */
export const getConsequence = defineLook({
  ...contractEndpoints.getConsequence,
  summary: 'The effects of one contract, as reasoning sees them.',
  async look(backend, { params: { execution_id } }) {
    const { revision, history } = await historyOf(backend, execution_id)
    return { revision, answer: () => consequenceView(history) }
  },
})

/** Reads the moves of a contract. */
export const getTransitions = defineLook({
  ...contractEndpoints.getTransitions,
  summary: 'Every move of one contract, oldest first.',
  async look(backend, { params: { execution_id } }) {
    const { revision, history, session_id } = await historyOf(backend, execution_id)
    return { revision, answer: () => ({ execution_id, session_id, transitions: transitionRecords(history) }) }
  },
})

async function leftOf(backend: Backend, session_id: string, [{ run_id = '', execution_id }]: ContractHistory) {
  const left = await leftIn(backend, session_id)
  if (left === undefined || !left.run_ids.has(run_id)) return null
  const unsettled = left.unsettled.filter((call) => call.execution_id === execution_id)
  return { run_ids: new Set([run_id]), unsettled }
}

/** The moves of a contract. Refused with `not_found` also if it has a secret rune. */
async function historyOf({ views }: Backend, execution_id: string) {
  const session_id = await views.sessionOf('contract', execution_id)
  const { state, histories } = await views.of(session_id)
  const history = histories.get(execution_id)
  if (history === undefined) throw faults.not_found({ what: 'execution', id: execution_id })
  return { session_id, history, revision: `${state.event_id}` }
}

/** Reads where a session stands on its graph. */
export const getGraphState = defineLook({
  ...contractEndpoints.getGraphState,
  summary:
    'Where reasoning stands: the checkpoint of a session, or of one agent in it, after its last event or an earlier one. What is pending, what is over or waits, the dialogue, the trace, and what a resume has to find waiting.',
  async look({ views, runelog }, { params: { session_id }, query: { agent_id, at } }) {
    const { state, steps } = await views.of(session_id)
    const event_id = at ?? state.event_id
    if (event_id > state.event_id) throw faults.not_found({ what: 'event', id: `${event_id} of ${session_id}` })
    await refuseUnknownAgent(runelog, session_id, agent_id)
    return {
      // Durations are as of the last event, so that nothing in it changes with the clock.
      revision: [event_id, agent_id].join('-'),
      async answer() {
        const growing = createGraph(agent_id)
        for await (const slice of inSlices(steps))
          for (const rune of slice) if (rune.event_id <= event_id) growing.fold(rune)
        for await (const slice of inSlices(growing.contracts()))
          for (const history of slice) growing.addContract(history)
        return { ...growing.state(), session_id, event_id }
      },
    }
  },
})

/** Reads a long output by its reference. */
export const getOutput = defineOperation({
  ...contractEndpoints.getOutput,
  summary: 'The whole of an output that was too long for the model, by the reference in its result.',
  async run({ output, runelog }, { params: { ref } }) {
    const known = await runelog.rows(outputs, { prefix: outputKey(ref), limit: 1 })
    const text = known.length === 0 ? undefined : await output(ref)
    if (text === undefined) throw faults.not_found({ what: 'output', id: ref })
    return { ref, text }
  },
})
