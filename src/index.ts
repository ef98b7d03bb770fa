/** What a program imports to define agents and run them. Each further feature has an entry point in `src/entry`. */

import './entry/node-version.ts'

export { aiSdkModel, type ModelSettings } from './adapters/ai-sdk/ai-sdk-model.ts'
export type { ProviderOptions } from './adapters/ai-sdk/provider-shapes.ts'
export type {
  LocalMcpServerOptions,
  McpServerOptions,
  McpToolOptions,
  RemoteMcpServerOptions,
} from './adapters/mcp/server-config.ts'
export type { FetchOptions } from './adapters/workspace/fetch.ts'
export type { ShellOptions } from './adapters/workspace/shell.ts'
export { type WorkspaceOptions, workspaceTools } from './adapters/workspace/workspace-tools.ts'
export type { PortOptions } from './app/connect.ts'
export type { Machines } from './app/library.ts'
export type { PlanOptions } from './app/open-plans.ts'
export type { OpenStore } from './app/open-store.ts'
export {
  createStatewright,
  defineConfig,
  type ServerConfig,
  type Statewright,
  type StatewrightOptions,
} from './app/statewright.ts'
export { type FaultCode, type FaultOf, isFault } from './faults/catalogue.ts'
export { Fault, type FaultKind } from './faults/fault.ts'
export type { Sha256 } from './kernel/digest.ts'
export type { Json, Problem } from './kernel/json.ts'
export type { Reading } from './kernel/machine.ts'
export type { Topology } from './kernel/topology.ts'
export type { MachineName } from './machines/all.ts'
export type { ContractStatus } from './machines/contract.ts'
export type { RunStatus } from './machines/run.ts'
export type { SessionState } from './machines/session.ts'
export type { MemoryQuery } from './observation/contract.ts'
export type { GraphOf } from './observation/graph-state.ts'
export type { Budget } from './observation/session-state.ts'
export type { Unsettled } from './observation/unsettled.ts'
export type {
  Counted as RowCount,
  FoldableRune,
  FoundSession,
  Head,
  Listener as CommitListener,
  ModelQuery,
  Range,
  ReadModel,
  Row,
  RunelogReader,
  Source as CommitSource,
  StorePorts,
  WordQuery,
} from './runelog/port.ts'
export type { InteractionKind, KeyScope, Kind, Payload, RunMode } from './runes/kinds.ts'
export type { StoredRecord } from './runes/record.ts'
export type { Actor, ActorCategory, Rune, Visibility } from './runes/rune.ts'
export type { Spawn } from './runtime/commands/agents.ts'
export type { Replied, Reply, ReplyOptions, Resumed } from './runtime/commands/reply.ts'
export type { ListedSession, SessionQuery, Stopped } from './runtime/commands/session.ts'
export type { CreatedSession, NewSession, Submission, Submitted } from './runtime/commands/submit.ts'
export { type Agent, type AgentOptions, agent } from './runtime/define-agent.ts'
export type { EphemeralDelta } from './runtime/delta.ts'
export type { Settings } from './runtime/engine.ts'
export type { AnyModel, Model, ModelEvent, ModelRequest, ProviderModel, ToolDescription } from './runtime/model.ts'
export type { OpenInteraction } from './runtime/models/open-work.ts'
export type { BudgetOptions, PolicyOptions } from './runtime/options.ts'
export type { Cancel, Clock, Ids, Log, Random, Timers } from './runtime/ports.ts'
export type { Question as InteractionRequest } from './runtime/run/calls.ts'
export type { EventOptions, RunEvent, RunHandle, RunResult } from './runtime/run-handle.ts'
export type { AbandonedRun } from './runtime/store.ts'
export { type ToolDefinition, tool } from './runtime/tools/define-tool.ts'
export type { Policy } from './runtime/tools/policy.ts'
export type { Asked as AskReply, Probed, Tool, ToolContext } from './runtime/tools/tool.ts'
export { DidNotHappen } from './runtime/tools/tool.ts'
export type { Price, RetryPolicy } from './runtime/turns/model-call.ts'
export type {
  Agents,
  Approval,
  Denial,
  Executions,
  Inbox,
  Kill,
  ListenOptions,
  RunQuery,
  Runs,
  Sessions,
  Settlement,
} from './surface/library.ts'
export type { Page } from './wire/common.ts'
export type {
  ExecutionSnapshot,
  ExecutionStep,
  ExecutionTimeline,
  GraphState,
  MemoryFact,
  OneSnapshot as ExecutionCard,
  TransitionRecord,
} from './wire/contract.ts'
export type { ConsequenceView, Message } from './wire/dialogue.ts'
export type { FcmpEvent, FcmpType } from './wire/fcmp.ts'
export type { InteractionCard, SettlementOutcome, UnsettledItem } from './wire/interaction.ts'
export type { AgentCard, ListedRun, RunCard } from './wire/run.ts'
export type { SessionCard } from './wire/session.ts'
