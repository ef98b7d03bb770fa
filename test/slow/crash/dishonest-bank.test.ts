import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import type { BankManner } from '../../support/bank-program.ts'
import { concurrently, whenFinished } from '../../support/concurrent.ts'
import type { RefundOptions, RefundReport } from '../../support/refund-program.ts'
import { runCli } from '../../support/run-cli.ts'
import { createTally } from '../../support/tally.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const run = promisify(execFile)
const support = join(import.meta.dirname, '../../support')
const tally = createTally()

/** The bank and each agent are processes of their own; the person uses the command line on the agent's store. */
async function openBank(manners: readonly BankManner[]) {
  const folder = temporaryFolder()
  const book = join(folder, 'book')
  const child = spawn(process.execPath, [join(support, 'bank-program.ts'), book], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  whenFinished(async () => {
    const over = once(child, 'exit')
    child.stdin.end()
    await over
  })
  const [bank] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const store = `sqlite:${folder}/refunds.db`
  return {
    booked: () => (existsSync(book) ? readFileSync(book, 'utf8').trim().split('\n') : []),
    async work(more: Partial<RefundOptions> = {}): Promise<RefundReport> {
      const options: RefundOptions = { store, bank, manners, ...more }
      const program = [join(support, 'refund-program.ts'), JSON.stringify(options)]
      const { stdout } = await run(process.execPath, program, { timeout: 60_000 })
      tally.count('agent processes')
      return JSON.parse(stdout)
    },
    async cli(...args: string[]): Promise<string> {
      const { exit, out, err } = await runCli([...args, '--store', store])
      expect({ exit, err }).toMatchObject({ exit: 0 })
      return out
    },
  }
}

const unclear = [
  ['drops the connection', 'hang_up', 'fetch failed', 'other side closed'],
  ['does not answer', 'silent', 'It took longer than 1000 ms.', ''],
  ['answers 504', 'gateway', 'The bank answered 504.', 'upstream timed out, reference ZX-81'],
] as const

for (const [what, manner, message, detail] of unclear)
  concurrently(`F-01 irreversible tool: the bank books and ${what}: booked once, a person settles`, async () => {
    const { work, cli, booked } = await openBank([manner, 'honest'])
    // GIVEN a refund that the bank booked without saying so
    const first = await work()
    expect(first).toMatchObject({ status: 'waiting_user', attempts: 1 })
    expect(booked()).toHaveLength(1)

    // THEN the run waits, and the person sees what the tool and the bank said
    const [{ interaction_id }] = JSON.parse(await cli('inbox', '--json')).items
    const card = await cli('inbox', interaction_id)
    expect(card).toContain(message)
    expect(card).toContain(detail)

    // AND no other run of the session starts the action meanwhile
    const other = await work({ session_id: first.session_id, mode: 'auto' })
    expect(other.attempts).toBe(0)

    // WHEN the person settles it and the model tries once more with the same key
    await cli('settle', interaction_id, '--happened', '-m', 'It is in the book.')
    const last = await work({ run_id: first.run_id })

    // THEN it stays booked once
    expect(last).toMatchObject({ status: 'succeeded', attempts: 0 })
    expect(booked()).toHaveLength(1)
    tally.count('payments booked once')
  })

concurrently('F-01 irreversible tool: in an auto run the model cannot pay again after the bank hung up', async () => {
  const { work, booked, cli } = await openBank(['hang_up', 'honest'])
  const first = await work({ mode: 'auto' })
  expect(first).toMatchObject({ status: 'failed', error_code: 'OUTCOME_UNKNOWN', attempts: 1 })
  const again = await work({ mode: 'auto', session_id: first.session_id })
  expect(again).toMatchObject({ status: 'succeeded', attempts: 0 })
  expect(booked()).toHaveLength(1)
  expect(JSON.parse(await cli('inbox', '--json')).items).toHaveLength(1)
  tally.count('payments booked once')
})

for (const manner of ['reset', 'declined'] as const)
  concurrently(`F-01 irreversible tool: DidNotHappen after ${manner} may be tried again`, async () => {
    const { work, booked, cli } = await openBank([manner, 'honest'])
    expect(await work()).toMatchObject({ status: 'succeeded', attempts: 2 })
    expect(booked()).toHaveLength(1)
    expect(JSON.parse(await cli('inbox', '--json')).items).toEqual([])
    tally.count('payments booked once')
  })
