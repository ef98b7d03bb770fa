import type { Machine } from '../../src/kernel/machine.ts'
import { machineNamed } from '../../src/machines/all.ts'
import type { SubjectMove } from '../../src/observation/subject-moves.ts'
import { Diagram } from '../machines/diagram.tsx'
import { legalMoves } from '../machines/legal.ts'
import { Guards } from '../parts/guards.tsx'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { At } from '../parts/time.tsx'
import { amend, usePlace } from '../route.ts'
import { shortId } from '../words.ts'
import { createPaths, timesTaken } from './paths.ts'
import { useFold } from './use-log.ts'
import type { View } from './view.ts'

/** Every machine in play, where it is, the path it took, and what may come next. */
export function MachinesView({ log, select }: View) {
  const { moves } = useFold(log, createPaths)
  const { query } = usePlace()
  const live = log.spine().entries()
  const chosen = query.get('subject') ?? live[0]?.subject_id ?? [...moves.keys()][0] ?? ''
  const path = moves.get(chosen) ?? []
  const entry = live.find(({ subject_id }) => subject_id === chosen)
  const machine = machineNamed(entry?.machine ?? path[0]?.machine ?? '')
  const state = entry?.state ?? path.at(-1)?.to
  const over = [...moves].filter(([id]) => !live.some(({ subject_id }) => subject_id === id)).slice(-50)
  return (
    <div className="machines-view">
      <nav aria-label="Machines in play">
        <h2>In play</h2>
        <ul className="subjects">
          {live.map((one) => (
            <Subject key={one.subject_id} {...one} isChosen={one.subject_id === chosen} />
          ))}
        </ul>
        {over.length > 0 && (
          <details>
            <summary>Over ({over.length})</summary>
            <ul className="subjects">
              {over.map(([subject_id, own]) => {
                const last = own.at(-1) as SubjectMove
                return (
                  <Subject
                    key={subject_id}
                    machine={last.machine}
                    subject_id={subject_id}
                    state={last.to}
                    isChosen={subject_id === chosen}
                  />
                )
              })}
            </ul>
          </details>
        )}
      </nav>
      {machine !== undefined && state !== undefined && (
        <MachineNow
          machine={machine}
          subject_id={chosen}
          state={state}
          path={path}
          select={select}
          isWhole={log.isWhole()}
        />
      )}
    </div>
  )
}

function Subject({
  machine,
  subject_id,
  state,
  isChosen,
}: {
  machine: string
  subject_id: string
  state: string
  isChosen: boolean
}) {
  return (
    <li>
      <button
        type="button"
        className="subject"
        aria-pressed={isChosen}
        title={subject_id}
        onClick={() => amend({ subject: subject_id })}
      >
        <span className="spine-machine">{machine}</span> <Mark machine={machine} state={state} />
        <span className="faint">{shortId(subject_id)}</span>
      </button>
    </li>
  )
}

interface Shown {
  readonly machine: Machine
  readonly subject_id: string
  readonly state: string
  readonly path: readonly SubjectMove[]
  readonly select: (event_id: number) => void
  readonly isWhole: boolean
}

function MachineNow({ machine, subject_id, state, path, select, isWhole }: Shown) {
  return (
    <section aria-label={`${machine.name} ${subject_id}`}>
      <h2>
        <Link href={`/machines/${machine.name}`}>{machine.name}</Link> <code>{subject_id}</code>
      </h2>
      <p>
        <Mark machine={machine.name} state={state} /> {machine.states[state]?.meaning}
      </p>
      <Diagram machine={machine} current={state} taken={timesTaken(machine.name, path)} />
      <h3>What may come next</h3>
      <ul className="plain-list">
        {legalMoves(machine, state).map(({ trigger, to, guards }) => (
          <li key={`${trigger} ${to}`}>
            <strong>{trigger}</strong> → {to}
            {guards.length > 0 && <span className="faint"> if {guards.join(', ')}</span>}
          </li>
        ))}
        {legalMoves(machine, state).length === 0 && <li>Nothing: it is over.</li>}
      </ul>
      <Forbidden machine={machine} state={state} />
      <h3>The path it took{isWhole ? '' : ', in what is loaded'}</h3>
      <ol className="path">
        {path.slice(-100).map((move) => (
          <li
            key={`${move.event_id} ${move.to} ${move.trigger}`}
            aria-current={move === path.at(-1) ? 'step' : undefined}
          >
            <button type="button" className="quiet" onClick={() => select(move.event_id)}>
              {move.event_id}
            </button>{' '}
            <At at={move.at} /> {move.from ?? '·'} → <strong>{move.to}</strong>{' '}
            <span className="faint">{move.trigger ?? 'opened'}</span>
            <Guards move={move} />
          </li>
        ))}
      </ol>
    </section>
  )
}

function Forbidden({ machine, state }: { machine: Machine; state: string }) {
  const forbidden = machine.forbidden.filter(({ from }) => from === state)
  if (forbidden.length === 0) return null
  return (
    <details>
      <summary>What can never come next ({forbidden.length})</summary>
      <ul className="plain-list">
        {forbidden.map(({ to, because }) => (
          <li key={to}>
            {state} → {to}: {because}
          </li>
        ))}
      </ul>
    </details>
  )
}
