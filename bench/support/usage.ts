import { readFileSync } from 'node:fs'
import { StatementSync } from 'node:sqlite'

/** Milliseconds of processor time in all threads of this process. It depends less than the clock on other programs. */
export function processorTime(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** Milliseconds of processor time of another process, in steps of 10. Linux only; 0 if the process has ended. */
export function processorTimeOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
    return (Number(user) + Number(system)) * 10
  } catch {
    return 0
  }
}

interface Commits {
  count: number
  /** By the clock, and in processor time of the process: that of a thread is counted too coarsely. */
  clock_ms: number
  processor_ms: number
}

/** From now on counts what the COMMIT statements of this thread take: the write, the sync and the checkpoints. */
export function meterCommits(): Commits {
  const commits: Commits = { count: 0, clock_ms: 0, processor_ms: 0 }
  StatementSync.prototype.run = new Proxy(StatementSync.prototype.run, {
    apply(run, statement: StatementSync, values) {
      if (statement.sourceSQL !== 'COMMIT') return Reflect.apply(run, statement, values)
      const used = processorTime()
      const began = performance.now()
      const answer = Reflect.apply(run, statement, values)
      commits.clock_ms += performance.now() - began
      commits.processor_ms += processorTime() - used
      commits.count += 1
      return answer
    },
  })
  return commits
}
