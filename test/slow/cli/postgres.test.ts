import { expect, test } from 'vitest'
import { createProject } from '../../support/cli-project.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { runCli } from '../../support/run-cli.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('cli-postgres')

test('cli on PostgreSQL: on PostgreSQL the same commands run, ask, look and answer', async () => {
  const url = await freshDatabase()
  const { cli } = createProject(scratch.fresh(), '{ obedient }', undefined, url)
  expect(await cli(['run', 'hello'])).toMatchObject({ exit: 0, out: 'You said: hello' })
  expect(await cli(['run', 'refund 7'])).toMatchObject({ exit: 4 })
  const { items } = JSON.parse((await cli(['ps', '--waiting', '--json'])).out) as {
    items: { run_id: string; session_id: string; waiting_for: { interaction_id: string } }[]
  }
  const [first] = items
  const { run_id = '', session_id = '', waiting_for: { interaction_id = '' } = {} } = first ?? {}
  const { digest } = JSON.parse((await cli(['inbox', interaction_id, '--json'])).out) as { digest: string }
  expect(await cli(['approve', interaction_id, '--yes', '--digest', digest])).toMatchObject({ exit: 0 })
  expect(await cli(['watch', run_id, '--work'])).toMatchObject({ exit: 0, out: 'It is SUCCESS.' })
  expect((await runCli(['clean', '--store', url])).out).toContain('are not listed.')
  expect((await cli(['timeline', session_id])).out).toMatch(/orders\.refund .* completed .* cannot be undone/)
})
