import { setTimeout as delay } from 'node:timers/promises'
import type { Kind } from './agents.ts'
import { startBank } from './bank.ts'
import { createWorker, type Worker } from './crew.ts'
import { deeds, type FaultKind, gentle } from './deeds.ts'
import { startOperator } from './operator.ts'

export interface LoopOptions {
  readonly database: string
  /** Ends every process of the database server at once and starts it again. */
  readonly crash: () => Promise<void>
  /** Which faults to play, in this order. Gentle ones are played once more with tools that ignore their signal. */
  readonly faults: readonly FaultKind[]
  readonly runs: number
  readonly chance: () => number
  readonly tell?: (line: string) => void
}

const most_open = 60

/**
 * Three workers on one database, each behind a proxy of its own; an operator
 * that submits and answers; a bank that witnesses effects. Faults come while
 * runs are under way, at most two at once. Then everything must come to its end.
 */
export async function playFaults({ database, crash, faults, runs, chance, tell = () => {} }: LoopOptions) {
  const bank = await startBank()
  const operator = await startOperator(database, bank, chance)
  const workers = await Promise.all(['a', 'b', 'c'].map((name) => createWorker(name, database, bank.port)))
  for (const worker of workers) await worker.start()

  const stages: readonly { readonly faults: readonly FaultKind[]; readonly kinds: readonly Kind[] }[] = [
    { faults: faults.filter((kind) => gentle.has(kind)), kinds: ['stubborn', 'payer', 'prober', 'signer'] },
    { faults, kinds: ['payer', 'payer', 'prober', 'prober', 'reader', 'signer'] },
  ]
  const planned = stages.flatMap((stage) => stage.faults).length
  const fired = new Map<FaultKind, number>()
  const underWay = new Set<Promise<void>>()
  let begun = 0
  for (const stage of stages) {
    for (const kind of stage.faults) {
      begun += 1
      // Runs keep pace with the faults, so that both end together.
      const due = Math.ceil((begun / planned) * runs)
      while (operator.submitted() < due && operator.open() < most_open) await operator.submit(stage.kinds)
      const fault = play(kind)
      underWay.add(fault)
      void fault.finally(() => underWay.delete(fault))
      await delay(200 + 600 * chance())
      while (underWay.size >= 2) await Promise.race(underWay)
      if (begun % 20 === 0)
        tell(
          `${begun} of ${planned} faults, ${operator.submitted()} runs, ${operator.open()} open, ${bank.doubled().length} doubled`,
        )
    }
    await Promise.all(underWay)
    // A tool that ignores its signal ends before connections are cut.
    await untilOver(45_000)
  }
  while (operator.submitted() < runs) {
    if (operator.open() < most_open) await operator.submit(['payer', 'prober', 'reader', 'signer'])
    else await delay(20)
  }
  for (const worker of workers) if (!worker.isUp()) await worker.start()
  await untilOver(75_000)

  const report = operator.report()
  const [lost, failures] = [await operator.lost(), await operator.failures()]
  const ends = await Promise.all(workers.map((worker) => worker.stop()))
  const output = workers.map((worker) => worker.output()).join('\n')
  await operator.close()
  await bank.close()
  return {
    faults: Object.fromEntries(fired),
    report,
    bookings: bank.bookings.length,
    doubled: bank.doubled(),
    lost,
    failures,
    /** Stack traces that a worker wrote. */
    stacks: output.match(/^.*\n(?:\s+at .+\n)+/gm) ?? [],
    /** How many workers did not end on SIGTERM. */
    unstoppable: ends.filter((isEnded) => !isEnded).length,
    output,
  }

  async function untilOver(within_ms: number) {
    for (const deadline = performance.now() + within_ms; performance.now() < deadline && operator.open() > 0; )
      await delay(100)
  }

  async function play(kind: FaultKind): Promise<void> {
    const worker = await idleWorker()
    await deeds[kind](worker, { chance, crash, other: idleWorker })
    worker.isBusy = false
    fired.set(kind, (fired.get(kind) ?? 0) + 1)
  }

  /** A worker on which no fault is played now; it is reserved. */
  async function idleWorker(): Promise<Worker> {
    for (;;) {
      const idle = workers.filter(({ isBusy }) => !isBusy)
      const chosen = idle[Math.floor(chance() * idle.length)]
      if (chosen !== undefined) {
        chosen.isBusy = true
        if (!chosen.isUp()) await chosen.start()
        return chosen
      }
      await delay(50)
    }
  }
}
