/**
 * The cost of judging a plan: an intent with 80 commands and 200 rules that
 * gives a graph of 200 nodes, next to Cedar alone for the same evaluations in
 * the same run. The target is at most twice Cedar alone, and less than 5 MB of
 * heap that 1,000 warm plans leave behind.
 */
import { hash } from 'node:crypto'
import * as cedarItself from '@cedar-policy/cedar-wasm/nodejs'
import { createCedarRuleEngine } from '../src/adapters/cedar/engines.ts'
import { coordinate } from '../src/coordinator/coordinate.ts'
import type { Ports } from '../src/coordinator/progress.ts'
import { type RuleRequest, type RuleSets, ruleVocabulary } from '../src/coordinator/rules/engine.ts'
import { verdicts } from '../src/coordinator/schemas/scalars.ts'
import { planInput } from './plan-input.ts'

const collect = globalThis.gc
if (collect === undefined) throw new Error('Run it with --expose-gc: npm run bench:plan.')
const sha256 = (text: string) => hash('sha256', text)

const startedAt = performance.now()
const cedar = createCedarRuleEngine(cedarItself)
const calls: { rules: RuleSets; requests: readonly RuleRequest[] }[] = []
let cedarMs = 0
/** Cedar as it is, with its own time taken and its calls noted, so that they can be repeated without us. */
const ports: Ports = {
  sha256,
  rules: {
    ...cedar,
    judge(rules, requests) {
      const begun = performance.now()
      const answers = cedar.judge(rules, requests)
      cedarMs += performance.now() - begun
      calls.push({ rules, requests })
      return answers
    },
  },
}
const input = planInput(ports)
const preparedMs = performance.now() - startedAt

const coldStart = performance.now()
const cold = coordinate(input, [], ports)
const coldMs = performance.now() - coldStart
const coldCedarMs = cedarMs
if (cold.state !== 'DONE') throw new Error(`The plan ended in ${cold.state}: ${cold.artifacts.failure_pack?.message}`)
const nodes = cold.artifacts.execution_graph?.nodes.length ?? 0
const recorded = calls.splice(0)
const evaluations = recorded.reduce((sum, { requests }) => sum + requests.length * 4, 0)

const rounds = 30
cedarItself.preparseSchema('alone', ruleVocabulary)
for (const { rules } of recorded)
  for (const verdict of verdicts)
    cedarItself.preparsePolicySet(`alone_${verdict}`, { staticPolicies: { ...rules.policies[verdict] } })
const plans: number[] = []
const alone: number[] = []
for (let i = 0; i < rounds; i++) {
  plans.push(timed(() => coordinate(input, [], ports)))
  alone.push(timed(cedarAlone))
  calls.length = 0
}

collect()
const before = process.memoryUsage()
const many = Number(process.env.PLANS ?? 1000)
const manyStart = performance.now()
for (let i = 0; i < many; i++) {
  coordinate(input, [], ports)
  calls.length = 0
}
const manyMs = performance.now() - manyStart
collect()
const after = process.memoryUsage()

const planMs = median(plans)
const aloneMs = median(alone)
const grownMb = (after.heapUsed - before.heapUsed) / 1e6
console.log(`plan: ${input.commands} commands, ${input.rules} rules, ${nodes} nodes, ${evaluations} evaluations`)
console.log(`  prepared (wasm, admission of the registry)   ${preparedMs.toFixed(0)} ms`)
console.log(
  `  cold plan                                    ${coldMs.toFixed(1)} ms, of which Cedar ${coldCedarMs.toFixed(1)} ms`,
)
console.log(`  warm plan, median of ${rounds}                      ${planMs.toFixed(1)} ms`)
console.log(`  Cedar alone, same evaluations, median of ${rounds}  ${aloneMs.toFixed(1)} ms`)
console.log(`  ratio                                        ${(planMs / aloneMs).toFixed(2)} (target: at most 2)`)
console.log(
  `  heap after ${many} warm plans                  ${grownMb >= 0 ? '+' : ''}${grownMb.toFixed(2)} MB (target: less than 5), ${(manyMs / many).toFixed(1)} ms each`,
)
process.exitCode = planMs / aloneMs <= 2 && grownMb < 5 ? 0 : 1

/** The same requests against the same policies, straight into Cedar; it must find at least one match. */
function cedarAlone() {
  let matched = 0
  for (const { requests } of recorded)
    for (const { agent_id, command_id, context } of requests)
      for (const verdict of verdicts) {
        const answer = cedarItself.statefulIsAuthorized({
          principal: { type: 'Agent', id: agent_id },
          action: { type: 'Action', id: 'plan' },
          resource: { type: 'Command', id: command_id },
          context: context as unknown as cedarItself.Context,
          preparsedSchemaName: 'alone',
          validateRequest: true,
          preparsedPolicySetId: `alone_${verdict}`,
          entities: [],
        })
        if (answer.type === 'success') matched += answer.response.diagnostics.reason.length
      }
  if (matched === 0) throw new Error('Cedar alone matched nothing.')
}

function timed(work: () => void): number {
  const begun = performance.now()
  work()
  return performance.now() - begun
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
