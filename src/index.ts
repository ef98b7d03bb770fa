/** What people import. Everything else in the package is our own business and may change. */

export { type WorkspaceOptions, workspaceTools } from './adapters/workspace/workspace-tools.ts'
export type { Fault } from './faults/fault.ts'
export type { Json } from './kernel/json.ts'
export { type Agent, agent } from './runtime/agents/define-agent.ts'
export type { Model, ModelEvent, ModelRequest } from './runtime/model.ts'
export type { RunEvent, RunHandle, RunResult } from './runtime/run-handle.ts'
export { ask, breakOff, call, say, scriptedModel, together } from './runtime/scripted-model.ts'
export { tool } from './runtime/tools/define-tool.ts'
export type { Probed, Tool, ToolContext } from './runtime/tools/tool.ts'
export { createStatewright, defineConfig, type Statewright, type StatewrightOptions } from './statewright.ts'
