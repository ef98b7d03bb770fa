import { existsSync, rmSync, writeFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { picture } from '../../support/browser.ts'
import { hushes } from '../../support/console-agents.ts'
import { consoleWorld } from '../../support/console-world.ts'
import { eventually } from '../../support/eventually.ts'

const world = consoleWorld()

/** The events that the raw view shows, in order. */
async function eventsOn(page: Page): Promise<readonly number[]> {
  const shown = await page.evaluate(`[...document.querySelectorAll('[data-event]')].map((row) => row.dataset.event)`)
  return (shown as string[]).map(Number)
}

const hush = (which: keyof typeof hushes) => writeFileSync(`${world.folder}/${hushes[which]}`, '')
const speak = (which: keyof typeof hushes) => rmSync(`${world.folder}/${hushes[which]}`)

/** Starts a run whose agent speaks as soon as the page listens, and stays in the middle of its sentence. */
async function beginSentence(page: Page, agent: string, input: string): Promise<string> {
  hush('beginning')
  hush('middle')
  const session_id = await world.begin(page, agent, input)
  await page.getByText(/✓ durable · Live/).waitFor()
  speak('beginning')
  await page.locator('.is-draft').waitFor()
  return session_id
}

test('console run: a run from the browser survives a kill of the server between start and approval', async () => {
  const page = await world.open('/')
  await page.getByText('No sessions yet.').waitFor()

  // Text is shown while it comes, and is no longer a draft once it is recorded.
  await beginSentence(page, 'support', 'Please refund order 42')
  speak('middle')
  await page.getByText('cannot be undone').waitFor()
  await page.getByRole('button', { name: 'Approve once' }).waitFor()
  await page.locator('.is-draft').waitFor({ state: 'detached' })
  await page
    .getByRole('list', { name: /State of every machine/ })
    .getByText('waiting user')
    .waitFor()
  await expect.poll(() => page.title()).toBe('(1) Statewright')
  await picture(page, 'session-waiting-1440')

  // The server dies; the page says so, keeps what it shows and what was written, and sends nothing.
  await page.getByLabel('Message').fill('half a thought')
  await world.server().kill()
  await page.getByText('Reconnecting: nothing is lost').waitFor()
  await page.getByText('the draft stays here').waitFor()
  await page.getByText('cannot be undone').waitFor()
  await world.server().restart()
  await page.getByText(/✓ durable · Live/).waitFor()
  expect(await page.getByLabel('Message').inputValue()).toBe('half a thought')

  await page.getByRole('button', { name: 'Approve once' }).click()
  await page.getByRole('button', { name: 'Yes, approve once' }).click()
  // That it outlived the restart is recorded in front of the first command that touches it.
  await page.getByText('the run still waits').waitFor()
  await page.getByText('Order 42 is refunded.').waitFor()
  await page.getByText('The run succeeded.').waitFor()
  await page.getByText(/^Answered by ada \(int_\w+\): approve/).waitFor()

  // Every event is there, once, in order.
  await page.keyboard.press('Escape')
  await page.getByRole('tab', { name: 'Raw' }).click()
  await page.getByRole('region', { name: 'Runes' }).waitFor()
  const events = await eventually('the last event', async () => {
    const shown = await eventsOn(page)
    const last = (await page.getByText(/^event \d+$/).textContent()) ?? ''
    return shown.length > 10 && shown.at(-1) === Number(last.slice('event '.length)) ? shown : undefined
  })
  expect(events).toEqual(events.map((_, i) => (events[0] as number) + i))
})

test('whole run: a server killed in the middle of a sentence: no gap, no event twice', async () => {
  const page = await world.open('/')
  const session_id = await beginSentence(page, 'poet', 'Write')
  await world.server().kill()
  speak('middle')
  await page.getByText('Reconnecting: nothing is lost').waitFor()
  await world.server().restart()
  await page.getByText('The run succeeded.').waitFor()
  await page.getByText('Its worker was lost; the run is queued again').waitFor()
  await page.getByRole('tab', { name: 'Raw' }).click()
  const { shown, ids } = await eventually('all events', async () => {
    const recorded = (await world.server().ask(`/api/sessions/${session_id}/runes?limit=1000`)).json
    const ids: number[] = recorded.items.map((rune: { event_id: number }) => rune.event_id)
    const shown = await eventsOn(page)
    return shown.length > 0 && shown.at(-1) === ids.at(-1) ? { shown, ids } : undefined
  })
  expect(shown).toEqual(ids.slice(-shown.length))
})

test('console: a person settles an unknown outcome, and the run goes on', async () => {
  const page = await world.open('/')
  await world.begin(page, 'cashier', 'Wire order 7')
  await eventually('the wire has begun', async () => existsSync(`${world.folder}/wire-7`) || undefined)
  await world.server().kill()
  await world.server().restart()
  await page.getByText('Did it?').first().waitFor()
  await page.getByText('has changed the world: unknown').waitFor()
  await picture(page, 'settlement-1440')
  await page.getByLabel('How do you know?').fill('The bank says so.')
  await page.getByRole('button', { name: 'It happened' }).click()
  await page.getByText('The wire ended as SUCCESS.').waitFor()
  await page.getByText('happened (The bank says so.)').waitFor()
})
