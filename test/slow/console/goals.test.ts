import { expect, test } from 'vitest'
import { goal } from '../../../examples/02-goal/cast.ts'
import { asRecord } from '../../../src/runtime/options.ts'
import { seriousInBoth } from '../../support/accessibility.ts'
import { picture, widthTooMuch } from '../../support/browser.ts'
import { otherToken } from '../../support/console-process.ts'
import { consoleWorld } from '../../support/console-world.ts'
import { eventually } from '../../support/eventually.ts'

const world = consoleWorld('goal')

test('console goal: it shows tasks by owner, takes the answer to a review, and is met', async () => {
  const { idempotencyKey: _, ...submission } = goal
  const { json } = await world.server().ask('/api/goals', asRecord(submission))
  const page = await world.open('/goals', { bypassCSP: true })
  await page.getByRole('link', { name: goal.goal }).click()
  await page.waitForURL(`**/g/${json.goal_id}`)
  await page.getByRole('button', { name: 'Approve once' }).waitFor()
  const graph = page.getByRole('region', { name: 'Tasks by owner' })
  await graph.getByRole('button', { name: /completed.*Find the orders|completed.*collect/i }).waitFor()
  await page.getByText('Nothing has been reviewed yet.').waitFor()
  expect(await seriousInBoth(page)).toEqual([])
  await picture(page, 'goal-waiting-1440')
  // The review, and then what its tasks want to do that cannot be undone.
  await eventually(
    'the goal is met',
    async () => {
      for (const name of ['Approve once', 'Yes, approve once']) {
        const button = page.getByRole('button', { name, exact: true }).and(page.locator(':enabled')).first()
        if (await button.isVisible()) await button.click({ timeout: 1_000 }).catch(() => {})
      }
      return (await page.getByText('The critic found nothing that stands in the way.').isVisible()) || undefined
    },
    60_000,
  )
  // The critic found something once, and a task that tries again stands in the graph.
  await graph.getByRole('button').last().click()
  await page.getByText('It retries ').waitFor()
  await page.getByRole('button', { name: 'Stop the goal' }).and(page.locator(':disabled')).waitFor()
  // Its findings are under review, closed at first; the severity is a word there.
  await page.getByText('Review 2 nothing was found').waitFor()
  const finding = page.getByRole('listitem').filter({ hasText: 'The letter is missing' })
  expect(await finding.isVisible()).toBe(false)
  await page.getByText('Review 1 1 error').click()
  await finding.waitFor()
  expect(await finding.textContent()).toMatch(/✕ error\s+completeness\s+The letter is missing\s+about report/)
  await finding.getByText('The report does not say that the customer was told.').waitFor()
  await finding.getByText('Evidence: report').waitFor()
  await finding.getByText('Suggested fix: Say that the letter was sent.').waitFor()
  expect(await seriousInBoth(page)).toEqual([])
  await picture(page, 'goal-met-1440')
  await page.setViewportSize({ width: 390, height: 844 })
  await picture(page, 'goal-met-390')
  await expect.poll(() => widthTooMuch(page)).toBeLessThanOrEqual(0)

  // A token with a narrower scope learns that there is a critique, and not what it says.
  const other = await world.open(`/g/${json.goal_id}`, { bypassCSP: true, token: otherToken })
  await other.getByText('The critic has reviewed it 2 times. Only tokens with the scope admin can see').waitFor()
  expect(await other.getByText('The letter is missing').count()).toBe(0)
  expect(await other.getByRole('alert').count()).toBe(0)
  expect(await seriousInBoth(other)).toEqual([])
  const refused = await world.server().ask(`/api/goals/${json.goal_id}/critiques`, undefined, otherToken)
  expect(refused).toMatchObject({ status: 403, json: { code: 'scope_missing' } })
})
