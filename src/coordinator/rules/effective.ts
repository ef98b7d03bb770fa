import { type RegistryIndex, resolve } from '../registry.ts'
import type { ExecutionPolicy } from '../schemas/context.ts'
import type { ExecutionIntent } from '../schemas/intent.ts'
import { type Effect, effects, highestRisk, type Mode, modes, type RiskLevel } from '../schemas/scalars.ts'

/** What is in force after intent, policy and registry are combined. */
export interface Effective {
  readonly mode: Mode
  readonly question_budget: number
  readonly question_policy: ExecutionIntent['interaction']['question_policy']
  readonly risk: RiskLevel
}

/**
 * The mode, the question budget and the risk in force. The stricter mode is the one that asks less: it turns a question
 * into a default or a block, never into a risk. The risk is at least that of the commands, whatever the intent declares.
 */
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
export function commandRisk(command: ExecutionIntent['planned_commands'][number], index: RegistryIndex): RiskLevel {
  const { found } = resolve(index, { kind: 'command', id: command.command_id, version: command.version })
  return highestRisk([command.risk_level, found?.risk_level ?? 'low'])
}

/** A command has every effect that the registry or the intent ascribes to it: an intent cannot talk one away. */
export function commandEffects(command: ExecutionIntent['planned_commands'][number], index: RegistryIndex): Effect[] {
  const { found } = resolve(index, { kind: 'command', id: command.command_id, version: command.version })
  return effects.filter((effect) => command.effects.includes(effect) || found?.effects.includes(effect))
}

/** What the registry calls irreversible, without a rollback. */
export function isDestructive(command: ExecutionIntent['planned_commands'][number], index: RegistryIndex): boolean {
  const { found } = resolve(index, { kind: 'command', id: command.command_id, version: command.version })
  return found?.irreversible === true && found.rollback === undefined
}
