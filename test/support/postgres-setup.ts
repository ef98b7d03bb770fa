import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: string
  }
}

/** Files that a store without a file of its own puts into the working directory, which is the checkout, unless configured. */
const strays = () => readdirSync('.').filter((name) => /^statewright\.(key|token|db)/.test(name))

let server: PostgresServer | undefined
let folder = ''
let before: readonly string[] = []

/**
 * One server for the whole run: the one that was given, or our own. Keys of shared stores are made in a folder of their
 * own. Processes that tests start share what the first of them compiled: the others start in half the time.
 */
export async function setup(project: TestProject) {
  before = strays()
  folder = mkdtempSync(join(tmpdir(), 'statewright-run-'))
  process.env.STATEWRIGHT_KEY = join(folder, 'statewright.key')
  process.env.NODE_COMPILE_CACHE ??= join(folder, 'compiled')
  const given = process.env.STATEWRIGHT_TEST_POSTGRES
  const compiled = compile()
  if (given === undefined) server = await startPostgres()
  await compiled
  project.provide('postgres', given ?? server?.url ?? '')
}

/** Loads what most processes load. One that is killed leaves nothing compiled behind. */
async function compile() {
  const entries = ['main', 'app/serve', 'app/start-worker', 'app/open-client', 'adapters/postgres/shared-store']
  const urls = entries.map((entry) => new URL(`../../src/${entry}.ts`, import.meta.url).href)
  await promisify(execFile)(process.execPath, urls.flatMap((url) => ['--import', url]).concat('--eval', ''))
}

export async function teardown() {
  await server?.stop()
  rmSync(folder, { recursive: true })
  const left = strays().filter((name) => !before.includes(name))
  if (left.length > 0) throw new Error(`A test wrote into the checkout: ${left.join(', ')}`)
}
