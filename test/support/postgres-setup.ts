import type { TestProject } from 'vitest/node'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: string
  }
}

let server: PostgresServer | undefined

/** One server for the whole run: the one that was given, or our own. */
export async function setup(project: TestProject) {
  const given = process.env.STATEWRIGHT_TEST_POSTGRES
  if (given === undefined) server = await startPostgres()
  project.provide('postgres', given ?? server?.url ?? '')
}

export async function teardown() {
  await server?.stop()
}
