import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Played, playForReal, stableLines, transcriptIn } from '../../../scripts/demo-transcript.ts'
import type { Payment } from '../../../src/demo/bank.ts'
import { runCli } from '../../support/run-cli.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

describe('demo: as a newcomer starts it', () => {
  let played: Played
  beforeAll(() => {
    played = playForReal()
  })

  test('demo: it keeps its promise, says so, and exits 0 in less than 30 s', () => {
    expect(played).toMatchObject({ exit: 0, complained: '' })
    expect(played.ms).toBeLessThan(30_000)
    expect(played.printed).toContain('Killed in the middle, paid once, proved.')
  })

  test.each([
    ['it streams what the agent says', /^support: Let me look at order 42 and at who placed it\.$/m],
    ['two tools work at once', /^\(2 tools were at work at the same time\)$/m],
    [
      'it asks before it refunds, with the whole card',
      /^│ undo {8}it cannot be undone$[\s\S]*^│ digest {6}[0-9a-f]{64}$/m,
    ],
    ['it is killed once the bank has the payment', /has not answered yet\.\nProcess \d+ is killed with SIGKILL\./],
    [
      'a new process goes on',
      /^Process \d+ opens the same store\.[\s\S]*Its worker was lost; the run is queued again\.$/m,
    ],
    [
      'it does not repeat, it asks',
      /it is not repeated\.[\s\S]*^│ It is unknown whether payments\.refund happened\. Did it\?$/m,
    ],
    ['it finishes', /^support: Done: order 42 is refunded[\s\S]*^The run succeeded\.$/m],
    ['it prints the timeline', /payments\.refund .*completed .*cannot be undone\n.*pending → running +start/],
    ['the bank was paid once', /^The bank's book has 1 payment:$/m],
    ['the log verifies', /^1 session verified\.$/m],
    [
      'a changed copy does not',
      /changes 42\.00 into 99\.00 in event (\d+) of a copy:\n.*\nses_\w+ event \1: its payload is not/,
    ],
  ])('%s', (_, seen) => {
    expect(played.printed).toMatch(seen)
  })

  test('demo: it prints the transcript in the README', () => {
    const readme = readFileSync('README.md', 'utf8')
    // Results of tools that ran side by side may change places.
    expect(stableLines(played.printed).toSorted()).toEqual(stableLines(transcriptIn(readme)).toSorted())
  })
})

describe('with someone at the terminal', () => {
  const scratch = scratchFolder('demo')

  async function played(typed: (question: string) => string) {
    const folder = scratch.fresh()
    const outcome = await runCli(['demo', '--folder', folder], { typed })
    const [name = ''] = readdirSync(folder)
    const book = readFileSync(join(folder, name, 'bank.ndjson'), 'utf8')
    rmSync(join(folder, name), { recursive: true })
    return {
      ...outcome,
      payments: book.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Payment])),
    }
  }

  test('demo: after a denial nothing is paid, no process is killed, and the record verifies', async () => {
    const { exit, out, payments } = await played(() => 'n')
    expect({ exit, payments }).toEqual({ exit: 0, payments: [] })
    expect(out).toContain('I was not allowed to refund order 42, so I did not.')
    expect(out).not.toContain('SIGKILL')
    expect(out).toContain('You said no: nothing was paid.')
  })

  test('demo: an outcome settled as did-not-happen is accepted, and the bank pays once', async () => {
    const { exit, out, payments } = await played((question) => (question.includes('Did it happen') ? 'n' : 'y'))
    expect({ exit, payments }).toEqual({ exit: 0, payments: [{ key: expect.any(String), order: 42, cents: 4_200 }] })
    expect(out).toContain('The refund of order 42 did not happen. I leave it to a person to try again.')
  })
})
