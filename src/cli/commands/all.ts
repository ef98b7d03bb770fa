import type { Command } from '../command.ts'
import { topologyCommand } from './topology.ts'

/** Every command there is. Help, usage and the reference pages walk this list. */
export const commands: readonly Command[] = [topologyCommand]
