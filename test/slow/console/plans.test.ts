import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { scanProject } from '../../../src/adapters/facts/project-folder.ts'
import { hostPorts } from '../../../src/adapters/host/ports.ts'
import { seriousInBoth } from '../../support/accessibility.ts'
import { picture, widthTooMuch } from '../../support/browser.ts'
import { consoleWorld } from '../../support/console-world.ts'

const world = consoleWorld()

async function submit(example: string): Promise<{ coordination_id: string; state: string }> {
  const intent = parse(readFileSync(`examples/plans/${example}/intent.yaml`, 'utf8'))
  const memory = parse(readFileSync('examples/plans/memory.yaml', 'utf8'))
  const facts = await scanProject('examples/plans/shop', 'shop', hostPorts.sha256)
  const { status, json } = await world.server().ask('/api/plans', { intent, facts, memory })
  if (status !== 200) throw new Error(JSON.stringify(json))
  return json
}

test('console plan: a plan with questions is answered, frozen and verified', async () => {
  const { coordination_id, state } = await submit('ask-first')
  expect(state).toBe('AWAITING_ANSWERS')
  const page = await world.open('/p', { bypassCSP: true })
  await page.getByRole('link', { name: coordination_id }).click()
  await page.getByRole('listitem').filter({ hasText: 'awaiting answers' }).waitFor()
  await page.getByRole('region', { name: 'The draft graph' }).getByText('? question').first().waitFor()
  expect(await seriousInBoth(page)).toEqual([])
  await picture(page, 'plan-asking-1440')

  // The questions are in place; one is answered, the other is left to its default.
  const first = page
    .getByRole('group')
    .filter({ has: page.getByRole('radio') })
    .first()
  await first.getByRole('radio').first().check()
  await page.getByRole('button', { name: 'Send the answers' }).click()
  await page.getByText('The plan is frozen and may be executed by others.').waitFor()
  await page.getByRole('region', { name: 'The final graph' }).waitFor()
  await page.getByText(/From draft to final, nodes:/).waitFor()
  await picture(page, 'plan-done-1440')

  await page.getByRole('tab', { name: 'Rules' }).click()
  await page.getByRole('row').filter({ hasText: 'require_review' }).first().waitFor()
  await page.getByRole('tab', { name: 'Questions' }).click()
  await page.getByRole('cell', { name: 'left to the default' }).first().waitFor()
  await page.getByRole('tab', { name: 'Review pack' }).click()
  await page.getByRole('heading', { name: 'How to go back' }).waitFor()
  await page.getByRole('tab', { name: 'Tape' }).click()
  await page.getByText('RECEIVED → PRECHECKED').waitFor()
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByText('Every output is what was frozen.').waitFor()
  expect(await seriousInBoth(page)).toEqual([])
  await page.setViewportSize({ width: 390, height: 844 })
  await page.getByRole('tab', { name: 'Graph' }).click()
  await picture(page, 'plan-done-390')
  await expect.poll(() => widthTooMuch(page)).toBeLessThanOrEqual(0)
})

test('plans: a denied plan names the rule and the remedies', async () => {
  const { coordination_id } = await submit('denied')
  const page = await world.open(`/p/${coordination_id}?tab=rules`, { bypassCSP: true })
  await page.getByText('rule_denied', { exact: true }).waitFor()
  await page.getByRole('row').filter({ hasText: 'deny' }).first().waitFor()
  expect(await seriousInBoth(page)).toEqual([])
  await picture(page, 'plan-denied-1440')
})
