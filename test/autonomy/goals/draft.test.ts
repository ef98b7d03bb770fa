import { expect, test } from 'vitest'
import { readDraft } from '../../../src/autonomy/goals/draft.ts'

const draftWith = (id: string) =>
  readDraft({ tasks: [{ id, command: 'ship_it', intent: 'Ship the release.' }] }, 'planner')

test.each(['r', '1a', 'A_b', 'a-b', 'a'.repeat(65)])(
  'drafts: the id %s of a task is refused with the whole rule',
  (id) => {
    expect(JSON.stringify(draftWith(id))).toContain(
      'must be 2 to 64 lower-case letters, digits and _, of which the first is a letter',
    )
  },
)

test.each(['ra', 'a_1', 'a'.repeat(64)])('drafts: the id %s of a task is taken', (id) => {
  expect(draftWith(id)).toMatchObject({ draft: { tasks: [{ id }] } })
})

test('GO-02 drafts: tasks that stand in for each other in a circle are refused, each with the circle', () => {
  const task = (id: string, instead_of?: string) => ({ id, command: 'ship_it', intent: 'Ship it.', instead_of })
  const said = (...tasks: readonly object[]) => JSON.stringify(readDraft({ tasks } as never, 'planner'))
  expect(said(task('aa', 'bb'), task('bb', 'aa'))).toContain('aa stands in for bb stands in for aa: that is a circle')
  expect(said(task('aa', 'bb'), task('bb', 'cc'), task('cc', 'aa'))).toContain(
    '/tasks/2/instead_of: cc stands in for aa',
  )
  expect(said(task('aa'), task('bb', 'aa'), task('cc', 'bb'))).not.toContain('circle')
})
