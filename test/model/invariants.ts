import { isOver } from './act.ts'
import { runFitsTurn, toolFitsContract } from './correspondence.ts'
import { isIrreversible, keyOf, type World, workers } from './world.ts'

const done = ['denied', 'completed_result', 'error_result', 'timeout_result', 'cancelled_result']

/** The invariants of every reachable world. Returns those that do not hold. */
export function violations(world: World): string[] {
  const found: string[] = []
  const demand = (holds: boolean, sentence: string) => {
    if (!holds) found.push(sentence)
  }

  demand(
    runFitsTurn(world.run, world.turn, world.agent),
    `run ${world.run} beside turn ${world.turn} and agent ${world.agent}`,
  )
  demand(workers.filter((w) => world[w] === 'holding').length <= 1, 'two workers hold the run')
  demand(
    world.run !== 'running' || workers.some((w) => ['holding', 'paused', 'dead'].includes(world[w])),
    'the run is running and no worker ever held it',
  )
  demand(
    world.run !== 'waiting_user' || world.calls.some((c) => c.interaction === 'open'),
    'the run waits and no person is asked',
  )
  demand(
    world.session !== 'closed' || (isOver(world) && world.agent === 'terminated'),
    'closed with work or agents left',
  )

  const began = new Map<string, number>()
  for (const call of world.calls) {
    const said = `${call.kind}: tool ${call.tool}, contract ${call.contract} (${call.reason}), began ${call.began}`
    const happened = call.began > 0
    if (call.tool !== null)
      demand(toolFitsContract(call.tool, call.contract, call.reason ?? undefined), `misfit: ${said}`)
    if (isIrreversible(call)) began.set(keyOf(call), (began.get(keyOf(call)) ?? 0) + call.began)

    demand(!isOver(world) || call.tool === null || done.includes(call.tool), `INV-TOOL-TERMINAL: ${said}`)
    demand(!(happened && call.contract === null), `INV-TOOL-CALL-BEFORE-RESULT, no contract: ${said}`)
    demand(!(happened && call.contract === 'pending'), `acted before the record: ${said}`)
    if (isIrreversible(call)) {
      const undone = ['failed', 'rejected', 'cancelled'].includes(call.contract ?? '')
      demand(!(happened && undone), `recorded as not done, but it happened: ${said}`)
      demand(!(call.contract === 'completed' && !happened), `recorded as done, but it did not happen: ${said}`)
    }
    if (call.kind === 'pay_approved' && happened)
      demand(
        call.answer === 'yes' ||
          call.reason === 'outcome_unknown' ||
          call.contract === 'completed' ||
          call.answer === 'leave',
        `INV-TOOL-APPROVAL-BEFORE-EXEC: ${said}`,
      )
    demand(
      call.interaction !== 'open' || call.contract === 'waiting' || call.contract === 'running',
      `asked about something that neither waits nor is at work: ${said}`,
    )
    demand(
      !(isOver(world) && call.contract === 'waiting') || call.interaction === 'open',
      `an unknown outcome without a question: ${said}`,
    )
  }
  for (const [key, times] of began) demand(times <= 1, `${key} was started ${times} times`)
  return found
}
