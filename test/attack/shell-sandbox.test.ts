import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer as createSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claimOwnFile } from '../../src/adapters/workspace/own-files.ts'
import { workspaceTools } from '../../src/adapters/workspace/workspace-tools.ts'
import { createRedactor } from '../../src/runelog/redactor.ts'
import { isSuperuser } from '../support/sandbox.ts'
import { createTally } from '../support/tally.ts'

const tally = createTally()
const canary = 'swt_the-token-of-the-owner'
const home = mkdtempSync(join(tmpdir(), 'statewright-shell-'))
/** No temporary folder, so a command finds it as it is; and every user may enter it. */
const lasting = mkdtempSync(isSuperuser ? '/var/lib/statewright-shell-' : join(import.meta.dirname, 'shell-'))
const root = join(home, 'work')
const state = join(home, 'state')
const context = {
  signal: new AbortController().signal,
  progress: () => undefined,
  redact: async (text: string) => text,
} as never

/** Answers with the canary, as the API of a server on this machine would. */
const server = createServer((_, response) => response.end(canary))
const socket = createSocket((connection) => connection.end(canary))
let release = () => {}

beforeAll(async () => {
  chmodSync(home, 0o755)
  mkdirSync(root)
  mkdirSync(state)
  // Readable by everyone: only the sandbox stands between the command and the token.
  writeFileSync(join(state, 'app.db.token'), canary, { mode: 0o644 })
  writeFileSync(join(home, 'open.db.token'), canary, { mode: 0o644 })
  chmodSync(lasting, 0o755)
  writeFileSync(join(lasting, 'own.db.token'), canary, { mode: 0o644 })
  writeFileSync(join(lasting, 'other.txt'), 'not ours', { mode: 0o644 })
  const releases = [claimOwnFile(join(home, 'open.db')), claimOwnFile(join(lasting, 'own.db'))]
  release = () => {
    for (const each of releases) each()
  }
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  await new Promise<void>((done) => socket.listen(join(home, 'api.sock'), done))
  const { port } = server.address() as AddressInfo
  const ask = `printf 'GET /%s HTTP/1.0\\r\\n\\r\\n' "$1" >&3 && cat <&3`
  writeFileSync(join(lasting, 'reach.sh'), `exec 3<>/dev/tcp/127.0.0.1/${port} && ${ask}\n`, { mode: 0o644 })
})
afterAll(() => {
  release()
  server.close()
  socket.close()
  for (const folder of [home, lasting]) rmSync(folder, { recursive: true, force: true })
})

async function ran(command: string, network = false): Promise<{ exit_code: number; stdout: string; stderr: string }> {
  const shell = workspaceTools({ root, shell: { network, timeoutMs: 20_000 } }).find((t) => t.name === 'shell.exec')
  return (await shell?.run({ command } as never, context)) as never
}

/** Asks the server, with what the system brings: our own Node may lie in a folder that commands do not see. */
const reach = (path = '') => `bash ${lasting}/reach.sh ${path}`

describe('F-89 shell.exec: a command', () => {
  test('is not the superuser, has no capability, and can gain none', async () => {
    const { stdout } = await ran('id -u; grep -E "^(NoNewPrivs|Cap(Inh|Prm|Eff|Amb))" /proc/self/status')
    expect(stdout).toMatch(/^[1-9]\d*\n/)
    expect(stdout).toContain('NoNewPrivs:\t1')
    expect(stdout.match(/^Cap\w+:\t(0+)$/gm)).toHaveLength(4)
  })

  const escapes: Readonly<Record<string, () => string>> = {
    'unmounts /proc and joins the namespace of the first process': () =>
      `umount /proc; nsenter -t 1 -n -m -p sh -c '${reach()}'; ${reach()}`,
    'joins the namespace of its parent': () => `nsenter -t $PPID -n true; ${reach()}`,
    'makes a user namespace of its own and unmounts what covers the token': () =>
      `unshare --user --map-root-user --mount sh -c 'umount ../open.db.token; umount -l /proc; umount /tmp; cat ../open.db.token ${home}/open.db.token'`,
    'reads the token by its path': () => `cat ${home}/open.db.token ${home}/state/app.db.token ../open.db.token`,
    'reads the token through the root of another process': () =>
      `for p in /proc/[0-9]*; do cat $p/root${home}/open.db.token $p/environ; done`,
    'reaches a server of this machine': () => reach('api/inbox'),
    'reaches a socket in the file system': () =>
      `${process.execPath} -e "require('net').connect('${home}/api.sock').on('data', (d) => console.log(String(d))).on('error', (e) => console.log(e.code))"`,
    'becomes another user by a setuid program': () =>
      `su -c 'cat ${home}/open.db.token'; sudo -n cat ${home}/open.db.token; mount`,
    'makes a device of the disk': () => 'mknod disk b 254 0 && head -c 1000000 disk',
  }
  test.each(Object.entries(escapes))('gets nowhere when it %s', async (_, command) => {
    const { stdout, stderr } = await ran(command())
    expect(stdout + stderr).not.toContain(canary)
    tally.count('shell.exec: ways out of the sandbox')
  })

  test('F-91: leaves no half of a secret in cut output', async () => {
    const { redactLong } = createRedactor({ secrets: new Map([['bank', canary]]) })
    const shell = workspaceTools({ root, shell: { maxOutputBytes: 1_000 } }).find((t) => t.name === 'shell.exec')
    const command = `printf '%0990d' 0; printf '${canary}'`
    const said = await shell?.run({ command } as never, { ...Object(context), redact: redactLong })
    expect(said).toMatchObject({ stdout: '0'.repeat(990), cut_bytes: 16 })
  })

  test('reads other files of the disk, and not the files of the store beside them', async () => {
    const { stdout } = await ran(`cat ${lasting}/other.txt; wc -c < ${lasting}/own.db.token`)
    expect(stdout).toBe('not ours0\n')
  })

  test('cannot signal or see processes outside', async () => {
    const { stdout } = await ran(
      `kill -0 ${process.pid} 2>&1; ls -d /proc/${process.pid} 2>&1; ls -d /proc/[0-9]* | wc -l`,
    )
    expect(Number(stdout.trim().split('\n').at(-1))).toBeLessThan(10)
    expect(stdout).toMatch(/No such/)
  })

  test('has the network and nothing else more if that is configured', async () => {
    const { stdout } = await ran(`id -u; ${reach()}; cat ${home}/open.db.token`, true)
    expect(stdout).toMatch(/^[1-9]\d*\n/)
    expect(stdout.match(new RegExp(canary, 'g'))).toHaveLength(1)
  })

  test('writes files that the file tools use, and uses theirs', async () => {
    const tools = workspaceTools({ root })
    const run = (name: string, args: object) =>
      Promise.resolve(tools.find((t) => t.name === name)?.run(args as never, context))
    await run('fs.write', { path: 'sub/given.txt', content: 'one' })
    const { exit_code, stderr } = await ran('printf " two" >> sub/given.txt; mkdir made; printf three > made/new.txt')
    expect({ exit_code, stderr }).toEqual({ exit_code: 0, stderr: '' })
    expect(await run('fs.read', { path: 'sub/given.txt' })).toBe('one two')
    expect(await run('fs.read', { path: 'made/new.txt' })).toBe('three')
    await run('fs.write', { path: 'made/new.txt', content: 'four' })
    expect((await ran('cat made/new.txt; pwd')).stdout).toBe(`four${root}\n`)
    expect(statSync(join(root, 'made/new.txt')).uid).toBe(statSync(root).uid)
  })

  test('leaves nothing behind outside the workspace', async () => {
    await ran(`touch /tmp/left-behind ${home}/left-behind /dev/shm/left-behind; true`)
    for (const folder of ['/tmp', home, '/dev/shm']) expect(existsSync(join(folder, 'left-behind'))).toBe(false)
  })

  test.runIf(isSuperuser)('is refused in a folder of the superuser that is in use, with a remedy', () => {
    const used = join(home, 'used')
    mkdirSync(used)
    writeFileSync(join(used, 'file'), '')
    expect(() => workspaceTools({ root: used, shell: {} })).toThrow(/never runs as the superuser.*chown -R 65534:65534/)
    chownSync(used, 65_534, 65_534)
    expect(workspaceTools({ root: used, shell: {} })).toHaveLength(6)
  })

  test('is refused where it cannot be shut in', () => {
    const path = process.env.PATH
    process.env.PATH = join(home, 'nothing-here')
    try {
      expect(() => workspaceTools({ root, shell: {} })).toThrow(/cannot be shut in here/)
    } finally {
      process.env.PATH = path
    }
    expect(readFileSync(join(home, 'open.db.token'), 'utf8')).toBe(canary)
  })
})
