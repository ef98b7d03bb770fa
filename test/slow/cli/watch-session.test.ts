import { expect, test } from 'vitest'
import { createProject } from '../../support/cli-project.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'

const scratch = scratchFolder('watch-session')

test.each([
  ['hello there', 0],
  ['fail', 1],
  ['refund 7', 4],
])('watch: an open session in a store without a process at work ends with its last run (%s)', async (input, exit) => {
  const project = createProject(scratch.fresh())
  await project.cli(['run', input])
  const { items } = JSON.parse((await project.cli(['ps', '--json'])).out) as {
    items: { session_id: string; run_id: string }[]
  }
  expect(items).toHaveLength(1)
  for (const { session_id, run_id } of items) {
    expect(await project.cli(['watch', session_id])).toMatchObject({ exit })
    expect(await project.cli(['watch', run_id])).toMatchObject({ exit })
    // Nothing is left to work on, so it ends as it does without --work.
    const watched = await project.cli(['watch', session_id])
    expect(await project.cli(['watch', session_id, '--work'])).toEqual(watched)
  }
})
