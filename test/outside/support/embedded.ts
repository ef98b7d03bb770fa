import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createStatewright, type Json, type Statewright, type StatewrightOptions, type Submission } from 'statewright'
import { actors, type Step } from './actor.ts'
import { gatesIn } from './gates.ts'

/** The library in this process, with the actors and a store of its own, for as long as the play lasts. */
export async function withLibrary(
  play: (house: Embedded) => Promise<void>,
  agents: (folder: string) => StatewrightOptions['agents'] = actors,
  options: Partial<StatewrightOptions> = {},
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'statewright-outside-'))
  const warnings: { message: string; details: object }[] = []
  const sw = await createStatewright({
    store: 'memory:',
    agents: agents(folder),
    policy: { mode: 'full_access' },
    settings: { cancelGraceMs: 50 },
    warn: (message, details) => warnings.push({ message, details }),
    ...options,
  })
  try {
    const submit: Embedded['submit'] = (script, more = {}) =>
      sw.runs.start({ agent: 'actor', input: JSON.parse(JSON.stringify(script)) as Json, ...more })
    await play({ sw, submit, warnings, folder, ...gatesIn(folder), runes: (session_id) => sw.runelog.read(session_id) })
  } finally {
    await sw.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

export interface Embedded extends ReturnType<typeof gatesIn> {
  readonly sw: Statewright
  readonly folder: string
  /** Gives an agent a script to play. */
  readonly submit: (
    script: readonly Step[] | string,
    more?: Partial<Submission>,
  ) => ReturnType<Statewright['runs']['start']>
  readonly warnings: readonly { readonly message: string; readonly details: object }[]
  /** Everything recorded in a session, oldest first. */
  readonly runes: (session_id: string) => ReturnType<Statewright['runelog']['read']>
}
