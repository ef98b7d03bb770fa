/**
 * Packs the package, installs it with zod in an empty project, and uses it as a stranger would: without the optional
 * packages, from TypeScript, in a bundle, on the oldest Node that is supported, and on one that is too old. It needs the registry or a warm npm cache;
 * without them it says so, and fails only with `STATEWRIGHT_REQUIRE_ALL=1`.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { registryReason } from './registry-reason.ts'

const app = `
import { agent, createStatewright, tool } from 'statewright'
import { call, say, scriptedModel } from 'statewright/testing'
import * as z from 'zod'

const refund = tool({ name: 'payments.refund', input: z.object({ order: z.int() }), irreversible: true, run: ({ order }) => ({ order }) })
const support = agent({ role: 'support', tools: [refund], model: scriptedModel([call('payments.refund', { order: 42 }), say('Refunded.')]) })
const sw = await createStatewright({ store: 'sqlite:./app.db', agents: { support }, policy: { preApproved: ['payments.refund'] } })
const run = await sw.runs.start({ agent: 'support', input: 'Refund order 42' })
console.log((await run.result()).result)
await sw.close()
`

const missing = `
import { agent, createStatewright } from 'statewright'
import { openPostgres } from 'statewright/postgres'
import { planPorts } from 'statewright/plans'
import { say, scriptedModel } from 'statewright/testing'

const agents = { support: agent({ role: 'support', model: scriptedModel([say('Hello.')]) }) }
const tries = [
  () => createStatewright({ store: 'postgres://localhost/app', agents }),
  () => openPostgres('postgres://localhost/app'),
  () => createStatewright({ store: 'memory:', agents, mcp: { files: { command: 'true' } } }),
  () => planPorts(),
  () => setGoal(),
]
async function setGoal() {
  const sw = await createStatewright({ store: 'memory:', agents })
  await sw.goals.start({ goal: 'Say hello.', planner: 'support' }).finally(() => sw.close())
}
for (const attempt of tries) await attempt().catch(({ code, message }) => console.log(code === 'package_missing' ? message : code + ': ' + message))
`

const everyEntry = `
import { agent, createStatewright, tool } from 'statewright'
import type { GoalSubmission } from 'statewright/goals'
import { openMcp } from 'statewright/mcp'
import { coordinate } from 'statewright/plans'
import { openPostgres } from 'statewright/postgres'
import { serve } from 'statewright/server'
import { scriptedModel } from 'statewright/testing'

export const all = [agent, createStatewright, tool, openMcp, coordinate, openPostgres, serve, scriptedModel]
export type Goal = GoalSubmission
`

/** The oldest Node of `engines`. */
const oldest_node = '22.18.0'

/** A megabyte has 2 ** 20 bytes, as du and esbuild count. */
const limits = { packages: 70, install_mb: 40, bundle_mb: 1.75 }
const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { devDependencies: { zod: string } }
const bin = resolve('node_modules/.bin')
const project = mkdtempSync(join(tmpdir(), 'statewright-pack-'))
const problems: string[] = []
const check = (what: string, holds: boolean) => {
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}`)
  if (!holds) problems.push(what)
}
const run = (command: string, args: readonly string[], cwd = project) =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

try {
  const tarball = pack()
  const files = new Set(run('tar', ['-tzf', tarball]).split('\n'))
  check('the tarball has the console, the maps and their sources', containsMaps(files))
  const { messages, pkg } = await publint({ pack: { tarball: toArrayBuffer(readFileSync(tarball)) } })
  for (const message of messages) console.log(formatMessage(message, pkg))
  check('publint has nothing to say', messages.length === 0)
  check('arethetypeswrong finds no problem', succeeds(join(bin, 'attw'), [tarball, '--profile', 'esm-only', '-q']))
  const reason = npmInstall(project, ['--ignore-scripts', tarball, `zod@${devDependencies.zod}`])
  if (reason !== undefined) leaveOut(`pack:check needs the npm registry: ${reason}`)
  else {
    measure()
    useIt()
    onOldestNode()
    await bundleIt()
  }
} finally {
  rmSync(project, { recursive: true, force: true })
}
console.log(`pack: ${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1

/** The console is built by `npm ci`; the rest is built here, so that what is checked is what was just edited. */
function pack(): string {
  run(join(bin, 'tsc'), ['-p', 'tsconfig.build.json'], process.cwd())
  run(process.execPath, ['scripts/prune-declarations.ts'], process.cwd())
  const [{ filename }] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', project], process.cwd()),
  ) as [{ filename: string }]
  return join(project, filename)
}

function containsMaps(files: ReadonlySet<string>): boolean {
  const needed = ['dist/index.js.map', 'dist/index.d.ts.map', 'src/index.ts', 'dist/console/index.html']
  return needed.every((file) => files.has(`package/${file}`))
}

function toArrayBuffer({ buffer, byteOffset, byteLength }: Buffer): ArrayBuffer {
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer
}

/** Installs packages in a folder. Returns why the registry was out of reach, if it was. */
function npmInstall(folder: string, args: readonly string[]): string | undefined {
  writeFileSync(join(folder, 'package.json'), '{ "name": "stranger", "type": "module", "private": true }\n')
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, stdout, stderr } = spawnSync('npm', ['install', ...quiet, ...args], { cwd: folder, encoding: 'utf8' })
  if (status === 0) return undefined
  // Without the registry npm may report a conflict of packages that it does not know. So the registry itself is asked.
  const ping = spawnSync('npm', ['ping', '--fetch-retries=0', '--loglevel=error'], { cwd: folder, encoding: 'utf8' })
  const reason = registryReason(`${stderr}${ping.status === 0 ? '' : ping.stderr}`)
  if (reason === undefined) throw new Error(`npm install ${args.join(' ')} failed:\n${stderr}${stdout}`)
  return reason
}

/** Names a check that this machine cannot make. CI makes them all. */
function leaveOut(what: string) {
  console.log(`not run: ${what}`)
  if (process.env.STATEWRIGHT_REQUIRE_ALL === '1') problems.push(what)
}

/** The package `node` brings a real Node. It is installed apart, so that it does not count for the size of the package. */
function onOldestNode() {
  const folder = join(project, 'oldest-node')
  mkdirSync(folder)
  const reason = npmInstall(folder, [`node@${oldest_node}`])
  const node = join(folder, 'node_modules/.bin/node')
  const { stdout, error } = spawnSync(node, ['--version'], { encoding: 'utf8' })
  if (reason !== undefined || stdout?.trim() !== `v${oldest_node}`)
    leaveOut(`pack:check could not get Node ${oldest_node}: ${reason ?? error?.message ?? `it got ${stdout?.trim()}`}`)
  else check(`an agent runs on SQLite with Node ${oldest_node}`, succeeds(node, ['app.mjs']))
}

function measure() {
  const lock = JSON.parse(readFileSync(join(project, 'node_modules/.package-lock.json'), 'utf8')) as {
    packages: object
  }
  const packages = Object.keys(lock.packages).length
  check(`${packages} packages are installed, at most ${limits.packages}`, packages <= limits.packages)
  const blocks = globSync('node_modules/**/*', { cwd: project }).map((file) => lstatSync(join(project, file)).blocks)
  const mb = (blocks.reduce((sum, each) => sum + each, 0) * 512) / 2 ** 20
  check(`they take ${mb.toFixed(1)} MB on disk, at most ${limits.install_mb}`, mb <= limits.install_mb)
}

function useIt() {
  writeFileSync(join(project, 'app.mjs'), app)
  check('an agent runs on SQLite', run(process.execPath, ['app.mjs']) === 'Refunded.\n')
  writeFileSync(join(project, 'missing.mjs'), missing)
  const sentences = run(process.execPath, ['missing.mjs']).trimEnd().split('\n')
  for (const sentence of sentences) console.log(`     ${sentence}`)
  const named = ['pg', 'pg', '@modelcontextprotocol/client', ...Array(2).fill('@cedar-policy/cedar-wasm')]
  const isNamed = named.every((name, i) => sentences[i]?.includes(`npm install ${name}@^`))
  check('each missing package is one sentence with what to install', sentences.length === named.length && isNamed)
  check('the command line starts', /^\d/.test(run(join(project, 'node_modules/.bin/statewright'), ['--version'])))
  const look = spawnSync(
    join(project, 'node_modules/.bin/statewright'),
    ['ps', '--store', 'postgres://localhost/app'],
    {
      cwd: project,
      encoding: 'utf8',
    },
  )
  check('a command that only looks names the missing package', look.stderr.includes('npm install pg@^'))
  // Every part of the public types is there: nothing is skipped.
  writeFileSync(join(project, 'app.ts'), everyEntry)
  const node = ['--types', 'node', '--typeRoots', resolve('node_modules/@types')]
  const strict = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--target', 'es2024', '--module', 'nodenext']
  check('all public types are complete', succeeds(join(bin, 'tsc'), [...strict, ...node, 'app.ts']))
  writeFileSync(join(project, 'old.mjs'), `Object.defineProperty(process.versions, 'node', { value: '20.20.2' })`)
  const old = spawnSync(process.execPath, ['--import', './old.mjs', 'app.mjs'], { cwd: project, encoding: 'utf8' })
  const sentence = 'Error: Statewright needs Node 22.18 or newer; this is Node 20.20.2.'
  check('an older Node is named when the library is imported', old.status === 1 && old.stderr.includes(sentence))
}

async function bundleIt() {
  const outfile = join(project, 'bundle', 'app.mjs')
  mkdirSync(join(project, 'bundle'))
  await build({
    absWorkingDir: project,
    entryPoints: ['app.mjs'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    logLevel: 'error',
  })
  const mb = statSync(outfile).size / 2 ** 20
  check(`an ESM bundle has ${mb.toFixed(2)} MB, at most ${limits.bundle_mb}`, mb <= limits.bundle_mb)
  // Away from node_modules: a bundle stands alone.
  const alone = mkdtempSync(join(tmpdir(), 'statewright-bundle-'))
  writeFileSync(join(alone, 'app.mjs'), readFileSync(outfile))
  check('the bundle runs without a banner', run(process.execPath, ['app.mjs'], alone) === 'Refunded.\n')
  rmSync(alone, { recursive: true, force: true })
}

function succeeds(command: string, args: readonly string[]): boolean {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: project, encoding: 'utf8' })
  if (status !== 0) console.log(`${stdout}${stderr}`)
  return status === 0
}
