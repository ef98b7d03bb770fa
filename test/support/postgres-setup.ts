import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: string
  }
}

/** What a store that is no file puts into the working directory, which is the checkout, unless it is told otherwise. */
const strays = () => readdirSync('.').filter((name) => /^statewright\.(key|token|db)/.test(name))

let server: PostgresServer | undefined
let folder = ''
let before: readonly string[] = []

/** One server for the whole run: the one that was given, or our own. Keys of shared stores are made in a folder of their own. */
export async function setup(project: TestProject) {
  before = strays()
  folder = mkdtempSync(join(tmpdir(), 'statewright-keys-'))
  process.env.STATEWRIGHT_KEY = join(folder, 'statewright.key')
  const given = process.env.STATEWRIGHT_TEST_POSTGRES
  if (given === undefined) server = await startPostgres()
  project.provide('postgres', given ?? server?.url ?? '')
}

export async function teardown() {
  await server?.stop()
  rmSync(folder, { recursive: true })
  const left = strays().filter((name) => !before.includes(name))
  if (left.length > 0) throw new Error(`A test wrote into the checkout: ${left.join(', ')}`)
}
