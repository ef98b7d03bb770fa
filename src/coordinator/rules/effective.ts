import { type RegistryIndex, resolve } from '../registry.ts'
import type { ContextBundle, ExecutionPolicy } from '../schemas/context.ts'
import type { ExecutionIntent, PlannedCommand } from '../schemas/intent.ts'
import { type Effect, effects, highestRisk, type Mode, modes, type RiskLevel } from '../schemas/scalars.ts'

/** What is in force after intent, policy and registry are combined. */
export type Effective = ContextBundle['effective']

/** The stricter mode is the one that asks less. The risk is at least that of the commands. */
export function effectiveOf(intent: ExecutionIntent, policy: ExecutionPolicy | null, index: RegistryIndex): Effective {
  const { interaction } = intent
  const strictness = (mode: Mode) => modes.indexOf(mode)
  const mode =
    policy !== null && strictness(policy.mode) > strictness(interaction.mode) ? policy.mode : interaction.mode
  const budget = Math.min(policy?.question_budget ?? interaction.question_budget, interaction.question_budget)
  return {
    mode,
    question_budget: mode === 'full_auto' || interaction.question_policy === 'never' ? 0 : budget,
    question_policy: mode === 'full_auto' ? 'never' : interaction.question_policy,
    risk: highestRisk([intent.risk.overall, ...intent.planned_commands.map((command) => commandRisk(command, index))]),
  }
}

/** A command is as risky as the registry says, and more so if the intent says more. */
export function commandRisk(command: PlannedCommand, index: RegistryIndex): RiskLevel {
  return highestRisk([command.risk_level, entryOf(command, index)?.risk_level ?? 'low'])
}

/** A command has every effect that the registry or the intent ascribes to it: an intent cannot talk one away. */
export function commandEffects(command: PlannedCommand, index: RegistryIndex): Effect[] {
  const known = entryOf(command, index)?.effects
  return effects.filter((effect) => command.effects.includes(effect) || known?.includes(effect))
}

/** What the registry calls irreversible, without a rollback. */
export function isDestructive(command: PlannedCommand, index: RegistryIndex): boolean {
  const found = entryOf(command, index)
  return found?.irreversible === true && found.rollback === undefined
}

function entryOf({ command_id: id, version }: PlannedCommand, index: RegistryIndex) {
  return resolve(index, { kind: 'command', id, version }).found
}
