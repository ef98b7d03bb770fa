import type { Machine } from '../kernel/machine.ts'
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

/** Every machine there is, outermost first. The console, the docs, the CLI and the conformance tests walk this list. */
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

export type MachineName = (typeof machines)[number]['name']
