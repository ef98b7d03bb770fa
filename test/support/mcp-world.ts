import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { McpServerOptions } from '../../src/adapters/mcp/server-config.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { type Scripted, say, scriptedModel } from '../../src/runtime/scripted-model.ts'
import { createWorld } from './world.ts'

/** A scratch folder that goes with the test. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'statewright-mcp-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A world with one worker that has the tools of these servers. */
export async function mcpWorld(mcp: Record<string, McpServerOptions>, script: readonly Scripted[], more: object = {}) {
  const worker = agent({ role: 'worker', model: scriptedModel([...script, say('done')]), mcp: Object.keys(mcp) })
  const world = await createWorld({ agents: { worker }, mcp, policy: { mode: 'full_access' }, ...more })
  onTestFinished(() => world.end())
  return world
}
