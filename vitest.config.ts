import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { notRun } from './scripts/test-needs.ts'

/** Tests that need what this machine does not have. The reporter names them. */
const leftOut = notRun().map(({ file }) => file)

const isProof = Boolean(process.env.STATEWRIGHT_PROOF)

/** The exhaustive bounds take as long as they take. */
const proof = isProof ? { testTimeout: 3_600_000 } : {}

/** What is waited for by looking again and again: a store in another process takes its time, on a busy machine even more. */
const patient = { poll: { timeout: 20_000 } }

/** Keys and tokens that tests make go into a folder of their own, and not to those of the user. */
if (process.env.STATEWRIGHT_HOME === undefined) {
  const home = mkdtempSync(join(tmpdir(), 'statewright-home-'))
  process.env.STATEWRIGHT_HOME = home
  process.on('exit', () => rmSync(home, { recursive: true, force: true }))
}

/** Each run notes in a folder of its own which edges of the machines the product took; the reporter reads it. */
if (process.env.STATEWRIGHT_EDGES === undefined) {
  const edges = mkdtempSync(join(tmpdir(), 'statewright-edges-'))
  process.env.STATEWRIGHT_EDGES = edges
  process.on('exit', () => rmSync(edges, { recursive: true, force: true }))
}

const withProcesses = {
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: patient,
  ...proof,
  globalSetup: ['test/support/postgres-setup.ts'],
}

function source(entry: string): string {
  return fileURLToPath(new URL(`./src/${entry}.ts`, import.meta.url))
}

/**
 * `fast` is the inner loop; `slow` starts real processes, databases and
 * browsers; `attack` is hostile to them. `npm test` runs all.
 */
export default defineConfig({
  // Examples import the package by its name; a test that plays one plays it on the sources.
  resolve: {
    alias: [
      { find: /^statewright$/, replacement: source('index') },
      { find: /^statewright\/(testing|plans|goals|observation|postgres|mcp|server)$/, replacement: source('entry/$1') },
    ],
  },
  test: {
    setupFiles: ['test/support/record-edges.ts', 'test/support/keep-logs.ts'],
    reporters: ['default', './scripts/reporter.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: ['test/slow/**', 'test/attack/**', 'test/outside/**', ...leftOut],
          testTimeout: 30_000,
          hookTimeout: 30_000,
          expect: patient,
          // All cores: by itself vitest leaves one of two idle.
          maxWorkers: availableParallelism(),
          // A file shares its process with others: to start one for each takes longer than the tests.
          isolate: false,
          ...proof,
        },
      },
      {
        extends: true,
        test: {
          name: 'slow',
          include: ['test/slow/**/*.test.ts', 'test/outside/**/*.test.ts'],
          exclude: leftOut,
          ...withProcesses,
          // Two files at once: most of them wait for processes and disks. The exhaustive loops have the machine to themselves.
          maxWorkers: isProof ? 1 : 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'attack',
          include: ['test/attack/**/*.test.ts'],
          exclude: leftOut,
          ...withProcesses,
          // They measure how a process answers and what it holds, so they run alone.
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
