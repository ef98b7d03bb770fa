import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { exits } from '../../../src/cli/exits.ts'
import { picture } from '../../support/browser.ts'
import { otherToken, ownerToken } from '../../support/console-process.ts'
import { consoleWorld } from '../../support/console-world.ts'
import { eventually } from '../../support/eventually.ts'

const world = consoleWorld()

/** The command as a process of its own, through the server that the tabs talk to. */
async function commandLine(...args: readonly string[]): Promise<{ status: number | null; said: string }> {
  const launcher = fileURLToPath(new URL('../../../bin/statewright.js', import.meta.url))
  const env = { ...process.env, STATEWRIGHT_TOKEN: ownerToken }
  const child = spawn(process.execPath, [launcher, ...args, '--server', world.server().url], { env })
  const said: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(String(chunk)))
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, said: said.join('') }
}

/** The question of the run, once it waits. */
async function questionOf(run_id: string): Promise<string> {
  return eventually('a question', async () => {
    const { json } = await world.server().ask(`/api/runs/${run_id}/interaction`)
    return json.pending_interaction_id ?? undefined
  })
}

async function resultOf(run_id: string) {
  return eventually('the end of the run', async () => {
    const { status, json } = await world.server().ask(`/api/runs/${run_id}/result`)
    return status === 200 ? json : undefined
  })
}

test('console form: every type of field shows its mistake beside it, and sends a value that fits', async () => {
  const { run_id } = await world.submit('clerk', 'Ask me')
  const id = await questionOf(run_id)
  const page = await world.open(`/inbox/${id}`)
  await page.getByLabel('Note').fill('two\nlines')
  await page.getByLabel('mail').check()
  await page.getByLabel('letter').check()
  await page.getByLabel('Fast').check()
  await page.getByLabel('Amount').fill('400')
  await page.getByLabel('Day').fill('2026-02-28')
  await page.getByLabel('Moment').fill('2026-02-28T10:30')
  await page.getByLabel('Urgent').selectOption('yes')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('It must be at most 100; it is 400.', { exact: true }).waitFor()
  await page.getByText('Customer is required.', { exact: true }).waitFor()
  await picture(page, 'form-1440')

  await page.getByRole('textbox', { name: 'Customer' }).fill('Ada')
  await page.getByLabel('The customer agrees').check()
  await page.getByLabel('Amount').fill('40')
  await page.getByLabel('Share').press('ArrowRight')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText(/^answered by ada/).waitFor()
  const { result } = await resultOf(run_id)
  expect(JSON.parse(String(result).slice('You said '.length))).toEqual({
    customer: 'Ada',
    note: 'two\nlines',
    currency: 'EUR',
    channels: ['mail', 'letter'],
    speed: 'fast',
    consent: true,
    amount: 40,
    share: 4,
    day: '2026-02-28',
    moment: await page.evaluate('new Date("2026-02-28T10:30").toISOString()'),
    urgent: true,
  })
})

test('answers: a denial with a reason reaches the agent, and nothing is done', async () => {
  const { run_id, session_id } = await world.submit('support', 'Refund order 5')
  const id = await questionOf(run_id)
  const page = await world.open(`/inbox/${id}`)
  await page.getByText('{"cents":4200,"order":5}', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Deny …' }).click()
  await page.getByLabel('Reason. The agent receives it.').fill('It was refunded yesterday.')
  await page.getByRole('button', { name: 'Deny', exact: true }).click()
  await page.getByText(/^answered by ada/).waitFor()
  expect((await resultOf(run_id)).result).toBe('I was told not to refund it.')
  const { json } = await world.server().ask(`/api/sessions/${session_id}/runes?kinds=tool.denied`)
  expect(json.items[0].payload.reason).toContain('It was refunded yesterday.')
})

test('answers: a whole approval by keyboard alone', async () => {
  const { run_id } = await world.submit('support', 'Refund order 6')
  await questionOf(run_id)
  const page = await world.open('/')
  await page.getByText('1 waiting').first().waitFor({ state: 'attached' })
  await page.keyboard.type('gi')
  await page.waitForURL(/\/inbox\/int_/)
  await page.locator('.card button.primary:enabled').waitFor()
  await page.keyboard.press('a')
  await page.locator('button:focus', { hasText: 'Yes, approve once' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByText(/^answered by ada/).waitFor()
  expect((await resultOf(run_id)).result).toBe('Order 6 is refunded.')

  // And back, and to the keys that there are.
  await page.keyboard.type('gs')
  await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  await page.keyboard.press('?')
  await page.getByRole('heading', { name: 'Keys on this page' }).waitFor()
  await picture(page, 'keys-1440')
})

/** By how many pixels more of this is hidden than a rounding hides, across and down. */
async function hiddenPartOf(page: Page, selector: string): Promise<number> {
  const hidden = 'Math.max(each.scrollHeight - each.clientHeight, each.scrollWidth - each.clientWidth)'
  return (await page.evaluate(
    `Math.max(...[...document.querySelectorAll(${JSON.stringify(selector)})].map((each) => ${hidden}))`,
  )) as number
}

test('F-90 approval: all arguments stand above the button, hidden characters are escaped, and a key leads to the button first', async () => {
  const { run_id } = await world.submit('forger', 'Refund order 9')
  const page = await world.open(`/inbox/${await questionOf(run_id)}`)
  const approve = page.locator('.card button.primary:enabled')
  await approve.waitFor()
  const shown = page.locator('.approval pre').first()
  expect(await shown.textContent()).toContain('To DE\\u{202e}98 7654\\u{202c} 3210.')
  expect(await page.locator('body').textContent()).not.toMatch(/[\u202a-\u202e]/)
  // Nothing of it is hidden in a box of its own, and the button is below all of it, out of sight.
  expect(await hiddenPartOf(page, '.approval section, .approval section pre')).toBeLessThanOrEqual(1)
  const [text, button] = [await shown.boundingBox(), await approve.boundingBox()]
  expect(text?.height).toBeGreaterThan(900)
  expect(button?.y).toBeGreaterThan((text?.y ?? 0) + (text?.height ?? 0))

  const bottom = 'document.querySelector(".card button.primary").getBoundingClientRect().bottom'
  const isInSight = () => page.evaluate(`${bottom} <= innerHeight`)
  expect(await isInSight()).toBe(false)
  await page.keyboard.press('a')
  await expect.poll(isInSight).toBe(true)
  expect(await page.getByRole('button', { name: 'Yes, approve once' }).count()).toBe(0)
  await page.keyboard.press('a')
  await page.getByRole('button', { name: 'Yes, approve once' }).click()
  await page.getByText(/^answered by ada/).waitFor()
  expect((await resultOf(run_id)).result).toBe('It ended as SUCCESS.')
})

test("F-90 confirmation: buttons name their effect in our words, not the agent's, and stand below all that it shows", async () => {
  const { run_id } = await world.submit('forger', 'Delete')
  const page = await world.open(`/inbox/${await questionOf(run_id)}`)
  const confirm = page.getByRole('button', { name: 'Confirm', exact: true })
  await confirm.waitFor()
  expect(await page.locator('.card button').allTextContents()).toEqual(['Confirm', 'Refuse'])
  await page.getByText('In the words of the agent: approve “Refuse (safe)”, reject “Approve”.').waitFor()
  expect(await hiddenPartOf(page, '.ecs section, .ecs pre')).toBeLessThanOrEqual(1)
  await page.locator('.card button:enabled', { hasText: 'Refuse' }).click()
  await page.getByText(/^answered by ada/).waitFor()
  expect((await resultOf(run_id)).result).toBe('It ended as REJECTED.')
})

test('answers: of two tabs and the command line that answer at once one wins, and the others are refused with its name', async () => {
  const { run_id, session_id } = await world.submit('support', 'Refund order 8')
  const id = await questionOf(run_id)
  const tabs = await Promise.all([
    world.open(`/inbox/${id}`, { token: ownerToken }),
    world.open(`/inbox/${id}`, { token: otherToken }),
  ])
  // Each tab has said yes before any of them is heard: a tab that hears of an answer takes its buttons away.
  const gate = Promise.withResolvers<void>()
  const answers = tabs.map((tab) => tab.waitForResponse(/\/approve$/))
  for (const tab of tabs) {
    await tab.route(/\/approve$/, async (route) => {
      await gate.promise
      await route.continue()
    })
    await tab.getByRole('button', { name: 'Approve once' }).click()
    const asked = tab.waitForRequest(/\/approve$/)
    await tab.getByRole('button', { name: 'Yes, approve once' }).click()
    await asked
  }
  gate.resolve()
  const command = await commandLine('deny', id, '-m', 'The command says no.')
  const lost: string[] = []
  for (const [i, tab] of tabs.entries()) {
    const isWon = (await answers[i])?.ok() === true
    await tab.getByText(isWon ? /^answered by (ada|bob)/ : 'Another reply was first.').waitFor()
    if (!isWon) lost.push((await tab.getByRole('alert').textContent()) ?? '')
  }
  const { json } = await world.server().ask(`/api/sessions/${session_id}/runes?kinds=interaction.answered`)
  expect(json.items).toHaveLength(1)
  const winner = json.items[0].payload.replied_by
  const won = [command.status === exits.ok, ...lost.map(() => false)].filter(Boolean).length + (2 - lost.length)
  expect(won).toBe(1)
  if (command.status !== exits.ok) {
    expect(command.status).toBe(exits.conflict)
    expect(command.said).toContain(winner)
  }
  for (const said of lost) expect(said).toContain(`by ${winner}`)
  expect((await resultOf(run_id)).status).toBe('succeeded')
})
