import { useState } from 'react'
import type { Machine } from '../../src/kernel/machine.ts'
import { toMermaid, topology } from '../../src/kernel/topology.ts'
import { machineNamed } from '../../src/machines/all.ts'
import { machineEndpoints } from '../../src/wire/machine.ts'
import { ask } from '../api/request.ts'
import { Diagram } from '../machines/diagram.tsx'
import { MachineTables } from '../machines/tables.tsx'
import { TryIt } from '../machines/try-it.tsx'
import { Copy, CopyCommand } from '../parts/copy.tsx'
import { Link } from '../parts/link.tsx'
import { useAsked } from '../use-asked.ts'
import { NotFound } from './not-found.tsx'

/** A machine: its moves, its forbidden moves with reasons, and the subjects in each state now. */
export function MachinePage({ name }: { name: string }) {
  const machine = machineNamed(name)
  if (machine === undefined) return <NotFound what={`machine ${name}`} />
  return <Shown machine={machine} />
}

function Shown({ machine }: { machine: Machine }) {
  const { value } = useAsked('occupancy', (signal) => ask(machineEndpoints.getOccupancy, {}, signal))
  const [tried, setTried] = useState<string>()
  const live = value?.machines.find((one) => one.machine === machine.name)?.states ?? []
  const counts = Object.fromEntries(live.map(({ state, count }) => [state, count]))
  return (
    <>
      <p>
        <Link href="/machines">Machines</Link>
      </p>
      <div className="head">
        <h1>{machine.name}</h1>
        <CopyCommand command={`statewright topology ${machine.name}`} />
      </div>
      <p>{machine.meaning}</p>
      <div className="row">
        <Copy text={toMermaid(machine)} label="copy as Mermaid" />
        <Copy text={JSON.stringify(topology(machine), null, 2)} label="copy as JSON" />
        <span className="faint">version {machine.version}</span>
      </div>
      <div className="machine-page">
        <div>
          <Diagram machine={machine} current={tried} counts={counts} pick={setTried} />
          <TryIt machine={machine} at={tried ?? machine.initial} move={setTried} />
        </div>
        <MachineTables machine={machine} counts={counts} />
      </div>
    </>
  )
}
