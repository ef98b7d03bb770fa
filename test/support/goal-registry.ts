import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Json } from '../../src/kernel/json.ts'
import { agent, command as estimated, rule, workflow } from './coordinator.ts'

type Entry = { [key: string]: Json }

/** Commands without estimates: the spending of a goal is measured while it runs, and not refused before. */
const command = (id: string, more: Entry = {}) => estimated(id, { estimate: {}, ...more })

/** A registry for goals: notes are taken side by side, writing is reviewed, deploying is denied. */
export const goalContent: readonly Entry[] = [
  workflow('wf_goal', [
    { phase: 'analysis', role: 'worker', commands: ['cmd_note', 'cmd_look'], parallel: true },
    { phase: 'implementation', role: 'worker', commands: ['cmd_write', 'cmd_pay', 'cmd_deploy'], parallel: true },
  ]),
  agent('worker', { roles: ['worker'] }),
  agent('builder', { roles: ['builder'] }),
  command('cmd_note'),
  command('cmd_look', { tools: [{ name: 'shop.look' }] }),
  command('cmd_write', { effects: ['write'], risk_level: 'medium', rollback: 'Undo it.' }),
  command('cmd_pay', {
    effects: ['network'],
    risk_level: 'medium',
    irreversible: true,
    rollback: 'Ask for it back.',
    tools: [
      { name: 'shop.pay', args_schema: { type: 'object', properties: { cents: { type: 'number', maximum: 100 } } } },
    ],
  }),
  command('cmd_deploy', { effects: ['deploy'], risk_level: 'high', rollback: 'Deploy the one before.' }),
  rule('rule_g01_known', 'allow', 'context.evidence_count >= 0', {}, 'info'),
  rule('rule_g02_deploy', 'deny', 'context.effects.contains("deploy")'),
]

/** Writes these entries into a folder, as `plans.registry` names one. */
export function registryIn(folder: string, entries: readonly Entry[] = goalContent): string {
  for (const entry of entries) writeFileSync(join(folder, `${entry.kind}-${entry.id}.json`), JSON.stringify(entry))
  return folder
}
