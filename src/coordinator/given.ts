import type { Progress } from './progress.ts'
import { indexOf, type RegistryIndex, resolve } from './registry.ts'
import { type ContextBundle, type ExecutionPolicy, executionPolicy } from './schemas/context.ts'
import { type ExecutionIntent, executionIntent, type PlannedCommand, stepOf } from './schemas/intent.ts'
import type { Agent, Command, Workflow } from './schemas/registry.ts'
import {
  type ContentKind,
  type Effect,
  effect,
  highestRisk,
  mode,
  type PhaseName,
  type RiskLevel,
} from './schemas/scalars.ts'

/** A planned command with its place in the plan, its agent and its registry entry. */
export interface PlannedStep {
  /** The number of the step in the intent, from 1. Node ids carry it. */
  readonly number: number
  readonly step_id: string
  readonly planned: PlannedCommand
  readonly command: Command
  readonly agent: Agent
  readonly role: string
  readonly workflow_id: string
  readonly phase: PhaseName
  readonly effects: readonly Effect[]
  readonly risk: RiskLevel
}

/** The steps of an intent that passed the precheck, so that every reference resolves. */
function stepsOf(intent: ExecutionIntent, index: RegistryIndex): readonly PlannedStep[] {
  return intent.planned_commands.map((planned, i) => {
    const command = mustResolve(index, 'command', planned.command_id, planned.version)
    const place = placeOf(planned, intent, index)
    const chosen = agentOf(planned, place.role, intent)
    return {
      number: i + 1,
      step_id: stepOf(planned),
      planned,
      command,
      agent: mustResolve(index, 'agent', chosen.agent_id, chosen.version),
      role: chosen.role,
      workflow_id: place.workflow_id,
      phase: place.phase,
      effects: commandEffects(planned, index),
      risk: commandRisk(planned, index),
    }
  })
}

/** The phase that the intent names; else the first selected one that lists the command; else the first one. */
function placeOf(planned: PlannedCommand, intent: ExecutionIntent, index: RegistryIndex) {
  const places = intent.selected_workflows.flatMap(({ workflow_id, version, phases }) => {
    const workflow = mustResolve(index, 'workflow', workflow_id, version)
    return workflow.phases.flatMap((one) => (phases.includes(one.phase) ? [{ workflow_id, ...one }] : []))
  })
  const place = placeAmong(places, planned) ?? places[0]
  if (place === undefined) throw new Error('An intent that passed the precheck has at least one phase.')
  return place
}

type Place = Workflow['phases'][number] & { readonly workflow_id: string }
type Wanted = { readonly command_id: string } & { readonly [K in 'workflow_id' | 'phase']?: string | undefined }

/** Of the places that have the wanted workflow and phase, the first one that lists the command; else the first one. */
export function placeAmong(places: readonly Place[], wanted: Wanted): Place | undefined {
  const fits = places.filter(
    ({ workflow_id, phase }) =>
      (wanted.workflow_id ?? workflow_id) === workflow_id && (wanted.phase ?? phase) === phase,
  )
  return fits.find(({ commands }) => commands.includes(wanted.command_id)) ?? fits[0]
}

/** The agent that the intent names; else the one in the role that leads the phase; else the first one. */
export function agentOf(planned: { agent_id?: string | undefined }, role: string | undefined, intent: ExecutionIntent) {
  const agents = intent.selected_agents
  const named = agents.find(({ agent_id }) => agent_id === planned.agent_id)
  const chosen = named ?? agents.find((agent) => agent.role === role) ?? agents[0]
  if (chosen === undefined) throw new Error('An intent that passed the precheck has at least one agent.')
  return chosen
}

/** The content that a checked reference names. */
export function mustResolve<K extends ContentKind>(index: RegistryIndex, kind: K, id: string, version?: string) {
  const { found } = resolve(index, { kind, id, version })
  if (found === null) throw new Error(`${kind} ${id} passed the precheck and yet does not resolve.`)
  return found
}

/** The checked inputs of every state after CONTEXT_BUILT, parsed once. */
export interface Given {
  readonly intent: ExecutionIntent
  readonly policy: ExecutionPolicy
  readonly index: RegistryIndex
  readonly context: ContextBundle
  readonly steps: readonly PlannedStep[]
}

const read = new WeakMap<ContextBundle, Given>()

/** The checked inputs of a coordination. Parsed once per context bundle. */
export function givenOf({ input, artifacts }: Progress): Given {
  const context = artifacts.context_bundle
  if (context === undefined) throw new Error('There is no context before CONTEXT_BUILT.')
  const known = read.get(context)
  if (known !== undefined) return known
  const index = indexOf(input.registry)
  const intent = executionIntent.parse(input.intent)
  const given = { intent, policy: executionPolicy.parse(input.policy), index, context, steps: stepsOf(intent, index) }
  read.set(context, given)
  return given
}

/** The values in force once intent, policy and registry are combined. */
export type Effective = ContextBundle['effective']

/** Takes the stricter mode, which asks less, and the highest risk of the intent and its commands. */
export function effectiveOf(intent: ExecutionIntent, policy: ExecutionPolicy | null, index: RegistryIndex): Effective {
  const { interaction } = intent
  const strictness = (one: Effective['mode']) => mode.options.indexOf(one)
  const isStricter = policy !== null && strictness(policy.mode) > strictness(interaction.mode)
  const inForce = isStricter ? policy.mode : interaction.mode
  const budget = Math.min(policy?.question_budget ?? interaction.question_budget, interaction.question_budget)
  return {
    mode: inForce,
    question_budget: inForce === 'full_auto' || interaction.question_policy === 'never' ? 0 : budget,
    question_policy: inForce === 'full_auto' ? 'never' : interaction.question_policy,
    risk: highestRisk([intent.risk.overall, ...intent.planned_commands.map((command) => commandRisk(command, index))]),
  }
}

/** The higher of the risks that the registry and the intent give the command. */
function commandRisk(command: PlannedCommand, index: RegistryIndex): RiskLevel {
  return highestRisk([command.risk_level, entryOf(command, index)?.risk_level ?? 'low'])
}

/** Every effect that the registry or the intent gives the command: an intent can add effects and remove none. */
export function commandEffects(command: PlannedCommand, index: RegistryIndex): Effect[] {
  const known = entryOf(command, index)?.effects
  return effect.options.filter((one) => command.effects.includes(one) || known?.includes(one))
}

/** Whether the registry calls the command irreversible and has no rollback for it. */
export function isDestructive(command: PlannedCommand, index: RegistryIndex): boolean {
  const found = entryOf(command, index)
  return found?.irreversible === true && found.rollback === undefined
}

function entryOf({ command_id: id, version }: PlannedCommand, index: RegistryIndex) {
  return resolve(index, { kind: 'command', id, version }).found
}
