/** Parts for the tests of your own agents: a model that plays a script, time that you move, and a check of event streams. */
import './node-version.ts'

export { createTestClock, createTestIds, type TestClock } from '../adapters/system/testing.ts'
export { checkFcmp, type Expected as ExpectedRun } from '../observation/fcmp-check.ts'
export type { Cancel, Clock, Ids, Random, Timers } from '../runtime/ports.ts'
export {
  ask,
  breakOff,
  call,
  type Script,
  type Scripted,
  type ScriptedModelOptions,
  say,
  scriptedModel,
  together,
} from '../runtime/scripted-model.ts'
