import { isTerminal } from '../../src/kernel/machine.ts'
import { coordinationMachine } from '../../src/machines/coordination.ts'
import type { PlanCard } from '../../src/wire/plan.ts'
import { looks } from '../tones.ts'
import { spoken } from '../words.ts'

/** All states of a coordination with the path that was taken, and how often answers sent it back. */
export function Progress({ plan }: { plan: PlanCard }) {
  const visited = new Map<string, number>([[coordinationMachine.initial, 1]])
  for (const { to } of plan.moves) visited.set(to, (visited.get(to) ?? 0) + 1)
  const rounds = plan.moves.filter(({ trigger }) => trigger === 'answer_conflicts').length
  const isOver = isTerminal(coordinationMachine, plan.state)
  const states = Object.entries(coordinationMachine.states).filter(
    ([state, declared]) => !('terminal' in declared) || state === plan.state || state === 'DONE',
  )
  return (
    <>
      <ol className="progress" aria-label="States of the plan">
        {states.map(([state]) => {
          const times = visited.get(state) ?? 0
          const isHere = state === plan.state
          const is = isHere ? 'here' : times > 0 ? 'passed' : isOver ? 'skipped' : 'ahead'
          const sign =
            is === 'passed' ? looks.good.sign : is === 'here' ? '▸' : is === 'skipped' ? '–' : looks.idle.sign
          return (
            <li key={state} className={`is-${is}`} aria-current={isHere ? 'step' : undefined} title={`${state}: ${is}`}>
              <span aria-hidden="true">{sign}</span> {spoken(state).toLowerCase()}
              {times > 1 && <span className="chip">×{times}</span>}
              <span className="unseen">: {is}</span>
            </li>
          )
        })}
      </ol>
      {rounds > 0 && <p className="faint">Answers sent it back to the rules {rounds} of 3 times.</p>}
    </>
  )
}
