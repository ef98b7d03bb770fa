import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { frozenFolder, planArguments, planExamples } from '../../../../scripts/plan-examples.ts'
import { journalFile } from '../../../../src/coordinator/outputs/freeze.ts'
import { createDice, seedOf } from '../../../support/dice.ts'
import { runCli } from '../../../support/run-cli.ts'

const proof = process.env.STATEWRIGHT_PROOF === '1'
const scratch = mkdtempSync(join(tmpdir(), 'statewright-plans-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** The outcome of each, and its reason. */
const outcomes = {
  'read-only': { exit: 0, says: /DONE .*\n.*\n2 actions in 1 phase, risk low, 0 review gates/ },
  'ask-first': { exit: 0, says: /cmd_migrate_orders +require_review +rule_data_is_reviewed/ },
  conflict: { exit: 0, says: /cmd_deploy +warn/ },
  denied: { exit: 1, says: /ABORTED: .*\nrule_denied .*\n.*rule_no_drops: A dropped table is gone/ },
  'red-line': { exit: 1, says: /ABORTED: .*\nred_line_violation .*\n +metadata\.afterwards\.shell/ },
}

const bytesIn = (folder: string) => new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]))

test('examples: there is an example of each kind', () => {
  expect(planExamples.toSorted()).toEqual(Object.keys(outcomes).sort())
})

describe.each(Object.entries(outcomes))('plan examples: %s', (name, { exit, says }) => {
  test('gives the committed bytes', async () => {
    const folder = join(scratch, name)
    const made = await runCli(planArguments(name, folder))
    expect(made.exit).toBe(exit)
    expect(made.out + made.err).toMatch(says)
    const made_of = bytesIn(folder)
    // The times of this run stand next to what is frozen.
    expect(made_of.delete(journalFile)).toBe(true)
    expect(made_of).toEqual(bytesIn(frozenFolder(name)))
    const verified = await runCli(['plan', 'verify', folder])
    expect(verified).toMatchObject({ exit: 0, err: '' })
  })

  test('does not verify if any file was tampered with', async () => {
    const folder = join(scratch, `${name}-tampered`)
    cpSync(frozenFolder(name), folder, { recursive: true })
    const dice = createDice(seedOf(7))
    let tampered = 0
    for (const [file, bytes] of bytesIn(folder)) {
      const places = Array.from({ length: proof ? 100 : 1 }, () => dice.below(bytes.length))
      for (const at of places) {
        const changed = Buffer.from(bytes)
        changed[at] = (bytes[at] ?? 0) ^ (1 << dice.below(8))
        writeFileSync(join(folder, file), changed)
        const { exit: found, err } = await runCli(['plan', 'verify', folder])
        expect(found, `${file} byte ${at}`).toBe(5)
        expect(err, `${file} byte ${at}`).not.toBe('')
        tampered++
      }
      writeFileSync(join(folder, file), bytes)
    }
    expect(await runCli(['plan', 'verify', folder])).toMatchObject({ exit: 0 })
    console.log(`${name}: ${tampered} bytes of ${bytesIn(folder).size} files changed, each one found`)
  })

  test('does not verify if a file is missing, added or replaced by a folder', async () => {
    const folder = join(scratch, `${name}-rearranged`)
    const begin = () => {
      rmSync(folder, { recursive: true, force: true })
      cpSync(frozenFolder(name), folder, { recursive: true })
    }
    for (const file of readdirSync(frozenFolder(name))) {
      begin()
      rmSync(join(folder, file))
      expect((await runCli(['plan', 'verify', folder])).exit, file).toBe(5)
    }
    begin()
    rmSync(join(folder, 'intent.json'))
    mkdirSync(join(folder, 'intent.json'))
    expect((await runCli(['plan', 'verify', folder])).err).toContain(
      'intent.json (checksum): It is not a file of text.',
    )
    begin()
    writeFileSync(join(folder, 'notes.md'), 'hello')
    expect(await runCli(['plan', 'verify', folder])).toMatchObject({
      exit: 5,
      err: expect.stringContaining('notes.md'),
    })
  })
})
