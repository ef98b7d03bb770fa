import { accessSync, constants, existsSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { hostPorts, systemClock } from '../adapters/host/ports.ts'
import { checkSignature, secretFault, tokenFault } from '../adapters/host/secret-files.ts'
import { refuseName } from '../adapters/sqlite/open-database.ts'
import { workspaceOf } from '../adapters/workspace/workspace-tools.ts'
import { isFault } from '../faults/catalogue.ts'
import { Fault } from '../faults/fault.ts'
import { shownStore } from '../kernel/printable.ts'
import { readGuardsAgain } from '../observation/readings.ts'
import { firstBad } from '../runelog/first-bad.ts'
import { mayGo, type Stray } from '../runelog/segment.ts'
import { isErased } from '../runes/erasure.ts'
import { createVerifier } from '../runes/verify.ts'
import { listAgents } from '../surface/operations/agents.ts'
import { parseStoreUrl } from '../surface/store-url.ts'
import { defaultConfigFile, type ExistingStore, type Finding, type Where } from '../surface/wiring.ts'
import { configOf, storeOf } from './load-config.ts'
import { openLookingClient } from './open-client.ts'
import { openExisting } from './open-store.ts'
import { createStatewright } from './statewright.ts'
import { keyFault, keyFileOf, tokenFileOf, usualPlaceOf } from './store-key.ts'

/** A limit on the events that are verified: these take a few seconds. */
const most_events = 100_000

const least_free_bytes = 200 * 1024 * 1024

/** Checks Node, config, disk, store, clock, secrets and server, one finding each. */
export async function examine(where: Where): Promise<readonly Finding[]> {
  const store = await attempt(() => storeOf(where))
  return [
    theNode(),
    await theConfig(where),
    ...(store instanceof Fault ? [] : await theStoreAt(store)),
    ...(where.server === undefined ? [] : [await theServer(where, where.server)]),
    theToken(),
  ]
}

function theNode(): Finding {
  const { node } = process.versions
  const readsTypes = Boolean(process.features.typescript)
  const says = `Node ${node}${readsTypes ? ' reads TypeScript by itself' : ' cannot read a config in TypeScript'}`
  return readsTypes
    ? good('Node', says)
    : odd('Node', says, 'use Node 22.18 or newer, or a config in JavaScript (--config)')
}

async function theConfig({ config: named }: Where): Promise<Finding> {
  const what = 'config'
  const config = await attempt(() => configOf(named))
  if (config instanceof Fault) return bad(what, config.message, 'fix the problem in this message')
  if (config === undefined) return odd(what, `there is no ${defaultConfigFile}`, 'statewright init')
  // On a store in memory: checks agents, tools and models, and touches nothing.
  const made = await attempt(() => createStatewright({ ...config, store: 'memory:', warn: () => {} }))
  if (made instanceof Fault) return bad(what, made.message, 'fix the problem in this message')
  await made.close()
  return good(what, `the agents ${Object.keys(config.agents).join(', ')} can be set up`)
}

async function theStoreAt(url: string): Promise<readonly Finding[]> {
  const place = await attempt(async () => parseStoreUrl(url))
  if (place instanceof Fault) return [bad('store', place.message, 'name another --store')]
  const path = place.kind === 'sqlite' ? place.path : undefined
  return [
    theFolder(path),
    ...(await theStore(url, path)),
    ...(place.kind === 'postgres' ? await theClock(url) : []),
    ...(place.kind === 'memory' ? [] : theSecrets(url)),
  ]
}

function theFolder(path: string | undefined): Finding {
  const what = 'disk'
  if (path === undefined) return good(what, 'the store is elsewhere')
  const folder = dirname(resolve(path))
  if (!existsSync(folder)) return bad(what, `there is no folder ${folder}`, `mkdir -p ${folder}`)
  try {
    accessSync(folder, constants.W_OK)
  } catch {
    const fix = `give yourself write access to ${folder}, or name another --store`
    return bad(what, `${folder} cannot be written to; a store in it can only be looked at`, fix)
  }
  const { bavail, bsize } = statfsSync(folder)
  const free = `${Math.floor((bavail * bsize) / 1024 / 1024)} MB are free in ${folder}`
  return bavail * bsize < least_free_bytes
    ? bad(what, free, 'make room: a log needs a place to grow')
    : good(what, free)
}

async function theStore(url: string, path: string | undefined): Promise<readonly Finding[]> {
  const what = 'store'
  const named = await attempt(async () => path !== undefined && refuseName(path))
  if (named instanceof Fault) return [bad(what, named.message, 'name another --store')]
  if (path !== undefined && !existsSync(path) && !existsSync(`${path}.segments`))
    return [good(what, `${shownStore(url)} is not there yet; the first run makes it`)]
  const opened = await attempt(() => openExisting(url, 'look'))
  if (opened instanceof Fault) {
    if (isFault(opened, 'store_locked')) return [theHolder(what, opened)]
    const fix = isFault(opened, 'store_unusable') ? 'restore a copy' : 'see that it can be reached'
    return [bad(what, opened.message, fix)]
  }
  try {
    const sessions = await opened.runelog.sessionIds()
    const size = path === undefined ? '' : `, ${Math.ceil(statSync(path).size / 1024)} kB`
    const says = `${shownStore(url)} holds ${sessions.length} ${sessions.length === 1 ? 'session' : 'sessions'}${size}; "statewright verify" proves it`
    return [good(what, says), await theRecord(opened, sessions), ...theStrays((await opened.strays?.()) ?? [])]
  } finally {
    await opened.runelog.close()
  }
}

/** Verifies the events of each log, up to a limit. "verify" checks the rest of the store. */
async function theRecord({ runelog }: ExistingStore, sessions: readonly string[]): Promise<Finding> {
  const what = 'record'
  let events = 0
  for (const session_id of sessions) {
    const ports = { ...hostPorts, check: checkSignature, isErased, trusted: undefined, readAgain: readGuardsAgain }
    const verifier = createVerifier(session_id, ports)
    const before = events
    const found = await firstBad(runelog.records(session_id), verifier, () => {
      events = before + verifier.head().event_id
      return events >= most_events ? 'stop' : undefined
    })
    if (found !== undefined) {
      const says = `${session_id} event ${found.event_id}: ${found.problem}`
      return bad(what, says, '"statewright verify" names all damage; keep the files, then restore a copy')
    }
    if (events >= most_events) return good(what, `the first ${events} events verify`)
  }
  return good(what, `its ${events} events verify`)
}

/** Files that the store does not refer to. If one holds the only copy of a log, the database is lost or older. */
function theStrays(strays: readonly Stray[]): readonly Finding[] {
  if (strays.length === 0) return []
  const lost = strays.filter((stray) => !mayGo(stray))
  const says = `${strays.length} ${strays.length === 1 ? 'file' : 'files'} beside the store that it does not refer to`
  if (lost.length === 0) return [odd('files', says, 'statewright clean')]
  const fix = 'statewright clean lists them; restore the database that belongs to them'
  return [bad('files', `${says}; ${lost.length} may hold the only copy of a log`, fix)]
}

/** Processes on PostgreSQL decide by its clock. A machine with another time confuses readers who compare logs. */
async function theClock(url: string): Promise<readonly Finding[]> {
  const { measureSkew, noticeable_skew_ms } = await import('../adapters/postgres/leases.ts')
  const skew_ms = await measureSkew(url, systemClock).catch(() => undefined)
  // Another finding says that the store cannot be reached.
  if (skew_ms === undefined) return []
  const what = 'clock'
  const says = `The clock of this machine is ${Math.abs(skew_ms)} ms ${skew_ms < 0 ? 'behind' : 'ahead of'} the database. Statewright uses the database clock.`
  const isOdd = Math.abs(skew_ms) > noticeable_skew_ms
  return [isOdd ? odd(what, says, 'set the clocks of both machines (NTP)') : good(what, says)]
}

/** Commands ask a server that holds the store. Any other process must release it first. */
function theHolder(what: string, { message, details }: Fault): Finding {
  const isServer = (details as { address?: string | null }).address != null
  return isServer ? good(what, message) : odd(what, message, 'wait for that process, or stop it')
}

async function theServer(where: Where, url: string): Promise<Finding> {
  const answered = await attempt(async () => {
    const client = await openLookingClient(where)
    return client.call(listAgents, {})
  })
  if (!(answered instanceof Fault)) return good('server', `${url} answers, with ${answered.items.length} agents`)
  const fix = isFault(answered, 'server_unreachable')
    ? 'statewright serve'
    : 'set STATEWRIGHT_TOKEN to a token of this server'
  return bad('server', answered.message, fix)
}

/** The files of the key and the token. They are safest outside every workspace and every copy of the store. */
function theSecrets(store: string): readonly Finding[] {
  return (['key', 'token'] as const).map((secret): Finding => {
    const what = `${secret} file`
    const file = resolve(secret === 'key' ? keyFileOf(store) : tokenFileOf(store))
    const usual = usualPlaceOf(store, secret)
    const isNamed = secret === 'key' && file === resolve(process.env.STATEWRIGHT_KEY ?? '')
    const unusable = secret === 'key' ? keyFault(store) : tokenFault(file)
    if (unusable !== undefined) return bad(what, unusable.message, restore[secret])
    const unmade = existsSync(file) ? undefined : secretFault(file)
    if (unmade !== undefined) return bad(what, unmade.message, 'set STATEWRIGHT_HOME to a writable folder')
    const workspace = workspaceOf(existsSync(file) ? realpathSync(file) : file)
    const move = `mkdir -p -m 700 ${dirname(usual)} && mv ${file} ${usual}`
    if (workspace !== undefined) {
      const stays = isNamed || file === usual || existsSync(usual)
      const fix = stays ? 'set STATEWRIGHT_HOME and STATEWRIGHT_KEY to a folder outside the workspace' : move
      return odd(what, `${file} lies in the workspace ${workspace}`, fix)
    }
    if (!existsSync(file)) return good(what, `${file} is made by the first process that needs it`)
    if (isNamed || file === usual)
      return good(what, `${file}; where this folder does not last, as in a container, set STATEWRIGHT_HOME`)
    const says = `${file} lies beside the store`
    if (!existsSync(usual)) return odd(what, says, move)
    const fix = `keep ${usual} under another name if a store needs it; then the key of this store can have its place`
    return odd(what, `${says} and fits it; ${usual} holds another key`, fix)
  })
}

const restore = {
  key: 'restore the key from a backup, or name the folder that holds it with STATEWRIGHT_HOME',
  token: 'delete it; the next server makes a new one',
}

function theToken(): Finding {
  const isSet = (process.env.STATEWRIGHT_TOKEN ?? '') !== ''
  return good(
    'token',
    isSet ? 'STATEWRIGHT_TOKEN is set' : 'STATEWRIGHT_TOKEN is not set; a server here keeps its own in a file',
  )
}

const good = (what: string, says: string): Finding => ({ what, verdict: 'good', says, fix: null })
const odd = (what: string, says: string, fix: string): Finding => ({ what, verdict: 'odd', says, fix })
const bad = (what: string, says: string, fix: string): Finding => ({ what, verdict: 'bad', says, fix })

async function attempt<T>(work: () => Promise<T>): Promise<T | Fault> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}
