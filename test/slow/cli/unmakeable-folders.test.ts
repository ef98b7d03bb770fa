import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { createProject, idIn } from '../../support/cli-project.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('unmakeable-folders')
const launcher = join(import.meta.dirname, '../../../bin/statewright.js')
let project: ReturnType<typeof createProject>
let session_id: string

beforeAll(async () => {
  project = createProject(scratch.fresh())
  session_id = idIn((await project.cli(['run', 'look 7', '--json'])).out, 'ses')
})

/** A command in a process of its own: Node's recursive mkdir would hold up this one for ever. */
function launch(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { status, signal, stderr } = spawnSync(process.execPath, [launcher, ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    cwd: project.folder,
    timeout: 20_000,
    killSignal: 'SIGKILL',
  })
  return { status, signal, stderr }
}

test.each(['/proc/x', '/proc/x/y', '/dev/null/x'])(
  'F-95 demo: a folder that cannot be made (%s) is refused',
  (folder) => {
    expect(launch(['demo', '--folder', folder])).toEqual({
      status: 1,
      signal: null,
      stderr: expect.stringMatching(
        new RegExp(`^${folder} cannot be used: it cannot be made \\(E[A-Z]+\\)\\. Name another folder\\.\n$`),
      ),
    })
  },
)

test.each(['export ID -o kept.bundle', 'checkpoint', 'serve --port 0', 'redact ID 1 --reason gone'])(
  'F-95 secrets: "%s" is refused where STATEWRIGHT_HOME cannot be made',
  (line) => {
    const args = line.replace('ID', session_id).split(' ')
    for (const home of ['/proc/x', '/sys/x'])
      expect(launch(args, { STATEWRIGHT_HOME: home })).toEqual({
        status: 1,
        signal: null,
        stderr: expect.stringMatching(
          new RegExp(
            `^${home}/\\S+/(key|token) cannot be used: it cannot be made \\(E[A-Z]+\\)\\. Name a folder .* STATEWRIGHT_HOME\\.\n$`,
          ),
        ),
      })
  },
)
