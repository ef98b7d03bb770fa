import { type Machine, type State, stateOf } from '../kernel/machine.ts'
import { agentMachine } from './agent.ts'
import { contractMachine } from './contract.ts'
import { coordinationMachine } from './coordination.ts'
import { goalMachine } from './goal.ts'
import { interactionMachine } from './interaction.ts'
import { runMachine } from './run.ts'
import { sessionMachine } from './session.ts'
import { taskMachine } from './task.ts'
import { toolMachine } from './tool.ts'
import { turnMachine } from './turn.ts'

/** Every machine, outermost first. The console, the docs, the CLI and the conformance tests walk this list. */
export const machines = [
  sessionMachine,
  runMachine,
  agentMachine,
  turnMachine,
  toolMachine,
  contractMachine,
  interactionMachine,
  coordinationMachine,
  goalMachine,
  taskMachine,
] as const satisfies readonly Machine[]

/** The name of a machine. */
export type MachineName = (typeof machines)[number]['name']

const byName: ReadonlyMap<string, Machine> = new Map(machines.map((machine) => [machine.name, machine]))

/** The machine of this name, or undefined where none has it. */
export function machineNamed(name: string): Machine | undefined {
  return byName.get(name)
}

/** The declaration of a state of the machine of this name, or undefined where there is none. */
export function declaredState(machine: string, state: string | undefined): State | undefined {
  const declared = byName.get(machine)
  return declared && stateOf(declared, state)
}

/** The machine of a declared name. */
export function machineOf(name: MachineName): Machine {
  return byName.get(name) as Machine
}
