import { expect, test } from 'vitest'
import { digestsOf, readGolden, unannounced } from '../../scripts/machine-digests.ts'
import type { Machine } from '../../src/kernel/machine.ts'
import { machines } from '../../src/machines/all.ts'
import { contractMachine } from '../../src/machines/contract.ts'

const changed: Machine = { ...contractMachine, meaning: 'Something else.' }

test('machine digests: no machine changed without a new version', () => {
  expect(unannounced(readGolden(), digestsOf(machines))).toEqual([])
})

test('machine digests: the golden file is up to date; "npm run digests" writes it', () => {
  expect(readGolden()).toEqual(digestsOf(machines))
})

test('machine digests: a change without a new version is found, and with one it is not', () => {
  const golden = digestsOf([contractMachine])
  expect(unannounced(golden, digestsOf([changed]))).toEqual([
    `contract changed and is still version ${changed.version}: raise its version, then run "npm run digests".`,
  ])
  expect(unannounced(golden, digestsOf([{ ...changed, version: changed.version + 1 }]))).toEqual([])
})

test('machine digests: a digest depends on the declaration and not on the order of its fields', () => {
  const reordered = Object.fromEntries(Object.entries(contractMachine).reverse()) as unknown as Machine
  expect(digestsOf([reordered])).toEqual(digestsOf([contractMachine]))
  expect(digestsOf([changed])).not.toEqual(digestsOf([contractMachine]))
})
