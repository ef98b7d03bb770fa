import { contractMachine } from '../../src/machines/contract.ts'
import { contractEndpoints } from '../../src/wire/contract.ts'
import { ask } from '../api/request.ts'
import { useConcerning } from '../contract/concerning.ts'
import { PathStrip } from '../contract/path-strip.tsx'
import { SameKey } from '../contract/same-key.tsx'
import { GuardedMoves, WriteAhead } from '../contract/write-ahead.tsx'
import { InteractionCard } from '../inbox/card.tsx'
import { Diagram } from '../machines/diagram.tsx'
import { legalMoves } from '../machines/legal.ts'
import { CopyCommand } from '../parts/copy.tsx'
import { JsonBlock } from '../parts/json.tsx'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { Loading, Trouble } from '../parts/states.tsx'
import { useAsked } from '../use-asked.ts'
import { NotFound } from './not-found.tsx'

/** One action: its moves and actors, its effect, and whether it may be tried again. */
export function ContractPage({ execution_id }: { execution_id: string }) {
  const snapshot = useAsked(`snapshot ${execution_id}`, (signal) =>
    ask(contractEndpoints.getSnapshot, { params: { execution_id } }, signal),
  )
  const consequence = useAsked(`consequence ${execution_id}`, (signal) =>
    ask(contractEndpoints.getConsequence, { params: { execution_id } }, signal),
  )
  const moved = useAsked(`transitions ${execution_id}`, (signal) =>
    ask(contractEndpoints.getTransitions, { params: { execution_id } }, signal),
  )
  const again = () => {
    snapshot.again()
    consequence.again()
    moved.again()
  }
  const session_id = moved.value?.session_id
  const runes = useConcerning(session_id, `${execution_id} ${snapshot.value?.transition_count}`)
  const { value } = snapshot
  if (value === undefined) {
    if (snapshot.problem?.status === 404) return <NotFound what={execution_id} />
    return snapshot.problem === undefined ? <Loading what="the contract" /> : <Trouble problem={snapshot.problem} />
  }
  const label = consequence.value?.consequence_label
  const status = value.current_status
  const own = runes.filter((rune) => rune.execution_id === execution_id)
  const question = own.findLast((rune) => rune.kind === 'interaction.opened')?.interaction_id
  const transitions = moved.value?.transitions ?? []
  const taken = new Map<number, number>()
  for (const { from_status, to_status, trigger } of transitions) {
    const edge = contractMachine.transitions.findIndex(
      (one) => one.from === from_status && one.to === to_status && one.on === trigger,
    )
    taken.set(edge, (taken.get(edge) ?? 0) + 1)
  }
  return (
    <>
      <div className="head">
        <h1>{value.action_summary}</h1>
        <CopyCommand command={`statewright timeline ${session_id ?? 'SESSION'}`} />
      </div>
      <p className="row">
        <Mark machine="contract" state={status} look={label === 'UNKNOWN' ? 'unknown' : undefined} />
        <span>{contractMachine.states[status].meaning}</span>
      </p>
      <ul className="facts">
        <li>{value.action_type === 'tool_call' ? 'a tool call' : 'a step handed to a person'}</li>
        <li>{value.is_terminal ? 'over' : value.is_stable ? 'may last' : 'on its way'}</li>
        {value.is_resumable && <li>an answer brings it back</li>}
        <li>
          can change the world: <strong>{value.has_side_effects ? 'yes' : 'no'}</strong>
        </li>
        <li>
          has changed the world: <strong>{changed(label, consequence.value?.has_side_effects)}</strong>
        </li>
        {session_id !== undefined && (
          <li>
            in <Link href={`/s/${session_id}`}>{session_id}</Link>
          </li>
        )}
        <li>
          <code>{execution_id}</code>
        </li>
      </ul>
      {question !== undefined && status === 'waiting' && (
        <InteractionCard interaction_id={question} isSelected onClosed={again} />
      )}
      <PathStrip snapshot={value} transitions={transitions} />
      <div className="contract-grid">
        <section>
          <h2>The machine, with this path</h2>
          <Diagram machine={contractMachine} current={status} taken={taken} />
          <h3>What may come next</h3>
          <ul className="plain-list">
            {legalMoves(contractMachine, status).map(({ trigger, to }) => (
              <li key={trigger}>
                <strong>{trigger}</strong> → {to}
              </li>
            ))}
            {value.is_terminal && <li>Nothing. {retry(status, label)}</li>}
          </ul>
          <details>
            <summary>What can never come next</summary>
            <ul className="plain-list">
              {contractMachine.forbidden
                .filter(({ from }) => from === status)
                .map(({ to, because }) => (
                  <li key={to}>
                    {to}: {because}
                  </li>
                ))}
            </ul>
          </details>
        </section>
        <section>
          <WriteAhead runes={runes} execution_id={execution_id} />
          <GuardedMoves runes={runes} execution_id={execution_id} />
          <SameKey runes={runes} idempotency_key={value.idempotency_key} execution_id={execution_id} />
        </section>
      </div>
      <div className="three">
        <section>
          <h2>Snapshot</h2>
          <JsonBlock value={value} name="snapshot" />
        </section>
        <section>
          <h2>Consequence: what the model is told</h2>
          <JsonBlock value={consequence.value ?? null} name="consequence" />
        </section>
        <section>
          <h2>Raw</h2>
          <JsonBlock value={own} name="runes" />
        </section>
      </div>
    </>
  )
}

function changed(label: string | undefined, has: boolean | undefined): string {
  return label === 'UNKNOWN' ? 'unknown' : has === true ? 'yes' : 'no'
}

function retry(status: string, label: string | undefined): string {
  if (status === 'completed') return 'It happened; it is not done again.'
  if (label === 'UNKNOWN') return 'It is unknown whether it happened; settle that first.'
  return 'A new attempt is a new contract.'
}
