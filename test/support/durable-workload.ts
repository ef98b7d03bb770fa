import { writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { hostPorts } from '../../src/adapters/host/ports.ts'
import { openSqliteRunelog } from '../../src/adapters/sqlite/runelog.ts'
import { accepted } from '../../src/faults/catalogue.ts'
import { Fault } from '../../src/faults/fault.ts'
import type { Runelog } from '../../src/runelog/port.ts'
import type { Draft } from '../../src/runes/rune.ts'
import { closed, created, move, opening, plain } from './drafts.ts'

/**
 * A program to be killed: `durable-workload.ts DATABASE ROUNDS [SYNCHRONOUS]`.
 * It writes runes of several sessions, side by side and alone, redacts and
 * archives, and says on its standard output what was acknowledged, when it was.
 * A last argument weakens the store, to see that the tests notice.
 */
const [path = '', rounds = '1', synchronous] = process.argv.slice(2)

if (synchronous !== undefined) {
  const exec = DatabaseSync.prototype.exec
  DatabaseSync.prototype.exec = function (sql) {
    const weaker = sql.replace('synchronous = FULL', `synchronous = ${synchronous}`)
    if (/synchronous =/.test(sql) && weaker === sql) throw new Error('There was nothing to weaken.')
    exec.call(this, weaker)
  }
}

const tell = (line: string) => writeSync(1, `${line}\n`)

/** Set once the store is open: an earlier failure is a failure to open. */
let runelog: Runelog | undefined

async function append(session_id: string, ...runes: Draft[]) {
  const recorded = accepted((await runelog?.append({ session_id, runes })) ?? [])
  tell(recorded.map(({ event_id, hash }) => `recorded ${session_id} ${event_id} ${hash}`).join('\n'))
}

const text = (round: number) => plain('turn.assistant_delta', { content: `round ${round} `.repeat(60) })

async function work() {
  runelog = await openSqliteRunelog(path, hostPorts)
  for (let round = 0; round < Number(rounds); round++) {
    const [a, b, c] = [`ses_${round}_a`, `ses_${round}_b`, 'ses_always']
    if (round === 0) await append(c, created(c))
    await append(a, created(a), opening('interaction', `int_${round}`, { prompt: `Is 4711-${round} the code?` }))
    await Promise.all([
      append(b, created(b), opening('contract', `exe_${round}`)),
      append(a, text(round)),
      append(c, text(round), text(round)),
    ])
    await append(b, move('contract', `exe_${round}`, ['pending', 'start']))
    await runelog.redact(a, 2, 'a code was shown')
    tell(`redacted ${a} 2`)
    await append(a, ...closed(a))
    if (round % 2 === 0) {
      await runelog.archive(a)
      tell(`archived ${a}`)
    }
  }
  await runelog.close()
  tell('closed')
}

/** A fault is told as it was given, and so is what the store says to the next request. */
function tellFault(when: string, error: unknown) {
  if (!(error instanceof Fault)) throw error
  tell(`${when} ${JSON.stringify(error)}`)
}

try {
  await work()
} catch (error) {
  tellFault(runelog === undefined ? 'unopened' : 'refused', error)
  if (runelog !== undefined) {
    const again = append('ses_always', text(0))
    await again.then(
      () => tell('went on'),
      (next) => tellFault('then', next),
    )
  }
  process.exitCode = 70
}
