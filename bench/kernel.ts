/**
 * Moves per second of our transition() and of XState's pure transition(), on
 * the same machine, along the same triggers, in the same process. Rounds
 * alternate, so that whatever else the computer does strikes both.
 */
import { createMachine, transition as moveInXState } from 'xstate'
import { toXState } from '../src/kernel/topology.ts'
import { transition } from '../src/kernel/transition.ts'
import { type ContractStatus, type ContractTrigger, contractMachine } from '../src/machines/contract.ts'

const walk: readonly ContractTrigger[] = ['start', 'suspend', 'resume', 'suspend', 'resume', 'succeed']
const rounds = 9
const target = 20

const loaded = createMachine(toXState(contractMachine) as Parameters<typeof createMachine>[0])
const initial = loaded.resolveState({ value: contractMachine.initial })
const events = walk.map((type) => ({ type }))

function walkOurs(): string {
  let at: ContractStatus = contractMachine.initial
  for (const trigger of walk) {
    const decision = transition(contractMachine, at, trigger)
    if (decision.allowed) at = decision.to
  }
  return at
}

function walkTheirs(): string {
  let at = initial
  for (const event of events) at = moveInXState(loaded, at, event)[0]
  return String(at.value)
}

/** Moves per second of one round, which also proves that the walk arrived. */
function measure(step: () => string, walks: number): number {
  const begun = performance.now()
  for (let i = 0; i < walks; i++) if (step() !== 'completed') throw new Error('The walk did not arrive.')
  return (walks * walk.length * 1000) / (performance.now() - begun)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

const ours: number[] = []
const theirs: number[] = []
for (let round = 0; round <= rounds; round++) {
  const [our, their] = [measure(walkOurs, 300_000), measure(walkTheirs, 5_000)]
  // The first round warms both up and does not count.
  if (round > 0) {
    ours.push(our)
    theirs.push(their)
  }
}

const ratio = median(ours) / median(theirs)
const show = (value: number) => Math.round(value).toLocaleString('en')
console.log(`transition() of the kernel: ${show(median(ours))} moves/s (median of ${rounds} rounds)`)
console.log(`transition() of XState:     ${show(median(theirs))} moves/s (median of ${rounds} rounds)`)
console.log(`ratio: ${ratio.toFixed(1)}× (at least ${target}× is asked for)`)
process.exitCode = ratio >= target ? 0 : 1
