import { readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { firstEventOf, type StoredRecord } from '../../../src/runes/record.ts'
import { seriousFaults } from '../../support/accessibility.ts'
import { buildConsole, picture, widthTooMuch } from '../../support/browser.ts'
import { consoleWorld } from '../../support/console-world.ts'
import { eventually } from '../../support/eventually.ts'
import { stateAt } from '../../support/state-at.ts'

const world = consoleWorld()

/** A session in which something waits, and one that is over. */
let made: ReturnType<typeof makeSessions> | undefined
const twoSessions = () => (made ??= makeSessions())

async function makeSessions() {
  const over = await world.submit('support', 'Refund order 1')
  const id = await eventually('a question', async () => {
    const { json } = await world.server().ask(`/api/runs/${over.run_id}/interaction`)
    return json.pending_interaction_id ?? undefined
  })
  const { json: asked } = await world.server().ask(`/api/interactions/${id}`)
  await world.server().ask(`/api/interactions/${id}/approve`, { digest: asked.digest })
  await eventually('the end', async () => {
    const { status } = await world.server().ask(`/api/runs/${over.run_id}/result`)
    return status === 200 || undefined
  })
  const open = await world.submit('support', 'Refund order 2, please, and be so kind as to tell the customer about it')
  await eventually('a question', async () => {
    const { json } = await world.server().ask(`/api/runs/${open.run_id}/interaction`)
    return json.pending_interaction_id ?? undefined
  })
  const { json: timeline } = await world.server().ask(`/api/execution/${over.session_id}/timeline`)
  return { over, open, execution_id: timeline.contracts.at(-1).execution_id as string }
}

/** The page has what it shows; nothing is being loaded. */
async function atRest(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await eventually('a page at rest', async () => ((await page.locator('.loading').count()) === 0 ? true : undefined))
}

test('every page: nothing that axe holds to be serious, light and dark; nothing wider than the screen', async () => {
  const { over, open, execution_id } = await twoSessions()
  const paths = {
    sessions: '/',
    session: `/s/${open.session_id}`,
    timeline: `/s/${open.session_id}?tab=timeline`,
    machines_in_play: `/s/${open.session_id}?tab=machines`,
    raw: `/s/${over.session_id}?tab=raw&at=12`,
    inbox: '/inbox',
    contract: `/c/${execution_id}`,
    audit: `/audit/${over.session_id}`,
    machines: '/machines',
    machine: '/machines/coordination',
    replay: `/s/${over.session_id}/replay?at=14&cmp=30`,
    plans: '/p',
    goals: '/goals',
    nothing: '/nowhere',
  }
  const wide = await world.open('/', { bypassCSP: true, colorScheme: 'light' })
  const narrow = await world.open('/', { bypassCSP: true, viewport: { width: 390, height: 844 } })
  const go = (page: Page, path: string) =>
    page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`)
  async function lookWide(name: string, path: string) {
    await go(wide, path)
    await atRest(wide)
    for (const colorScheme of ['light', 'dark'] as const) {
      await wide.emulateMedia({ colorScheme })
      expect(await seriousFaults(wide, colorScheme === 'dark'), `${name}, ${colorScheme}`).toEqual([])
      if (colorScheme === 'light' || name === 'session') await picture(wide, `${name}-1440-${colorScheme}`)
    }
  }
  async function lookNarrow(name: string, path: string) {
    await go(narrow, path)
    await atRest(narrow)
    await picture(narrow, `${name}-390`)
  }
  for (const [name, path] of Object.entries(paths)) {
    await Promise.all([lookWide(name, path), lookNarrow(name, path)])
    for (const page of [wide, narrow])
      await expect.poll(() => widthTooMuch(page), { message: name }).toBeLessThanOrEqual(0)
  }
}, 240_000)

test('console replay: the state of every machine at an event is that of the reducers, and has an address', async () => {
  const { over } = await twoSessions()
  const { json } = await world.server().ask(`/api/sessions/${over.session_id}/runes?limit=1000`)
  const page = await world.open(`/s/${over.session_id}/replay?at=1`)
  const slider = page.getByRole('slider', { name: 'Event' })
  await slider.waitFor()
  for (const at of [1, 9, 20, json.items.length]) {
    await slider.fill(String(at - 1))
    await page.getByText(`Every machine after event ${at}`).waitFor()
    const shown = await page.locator('table.plain tbody tr').allTextContents()
    const expected = [...stateAt(json.items, at).values()].map(({ state }) => state.replaceAll('_', ' ')).sort()
    expect(shown).toHaveLength(expected.length)
    for (const state of expected)
      expect(
        shown.some((row) => row.includes(state)),
        state,
      ).toBe(true)
    await page.waitForURL(({ searchParams }) => searchParams.get('at') === String(at))
  }
  // By keyboard: back by an event, and by a change.
  await page.getByRole('button', { name: 'Pin this moment' }).click()
  await page.keyboard.press(',')
  await page.getByText('What differs from the pinned moment').waitFor()
  await page.waitForURL(({ searchParams }) => searchParams.get('at') === String(json.items.length - 1))
})

test('console pages: a bundle is verified in the browser; one that was tampered with names its first bad event', async () => {
  const { over } = await twoSessions()
  const page = await world.open(`/audit/${over.session_id}`)
  await page.getByText(/✓ \d+ events verified, the chain is intact/).waitFor()
  await page.getByRole('button', { name: 'Verify in my browser' }).click()
  await page.getByText(/verified from the bundle that the server gave/).waitFor()

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download the bundle' }).click(),
  ])
  const whole = `${world.folder}/whole.ndjson`
  await download.saveAs(whole)
  const file = page.getByLabel('Verify a bundle from a file')
  await file.setInputFiles(whole)
  await page.getByText(/verified from whole.ndjson/).waitFor()

  const lines = readFileSync(whole, 'utf8').split('\n')
  const lineOf = (n: number) => lines[n] as string
  const spoiled = {
    payload: lines.with(2, lineOf(2).replace('"payload":"{', '"payload":"{ ')),
    header: lines.with(3, lineOf(3).replace('"header":"{', '"header":"{ ')),
    hash: lines.with(4, lineOf(4).replace(/"hash":"./, '"hash":"x')),
    missing: lines.toSpliced(5, 1),
    signature: lines.map((line) =>
      line.replace(/"signature":"(..)/, (_, two) => `"signature":"${two === '00' ? '01' : '00'}`),
    ),
  }
  // Line 0 says what the file is, and each further line is a commit of several events.
  const records = lines.slice(1, -2).map((line) => JSON.parse(line) as StoredRecord)
  const first = (n: number) => firstEventOf(records[n - 1] as StoredRecord)
  expect(first(5)).toBeGreaterThan(5)
  const expected = {
    payload: first(2),
    header: first(3),
    hash: first(4),
    missing: first(5),
    signature: records.at(-1)?.event_id,
  }
  for (const [how, text] of Object.entries(spoiled)) {
    const path = `${world.folder}/${how}.ndjson`
    writeFileSync(path, text.join('\n'))
    await file.setInputFiles(path)
    const bad = expected[how as keyof typeof expected]
    await page.getByText(`Event ${bad} is not what was recorded:`).waitFor()
    await file.setInputFiles(whole)
    await page.getByText(/verified from whole.ndjson/).waitFor()
  }
  await file.setInputFiles(`${world.folder}/payload.ndjson`)
  await page.getByText(`Event ${expected.payload} is not what was recorded:`).waitFor()
  await page.getByText('its payload is not the one that was recorded.').waitFor()
  await picture(page, 'audit-tampered-1440')
})

test('console contract: it shows its path, its marks and its message to the model', async () => {
  const { execution_id } = await twoSessions()
  const page = await world.open(`/c/${execution_id}`)
  await page.getByText('has changed the world: yes').waitFor()
  for (const mark of ['intent written', 'effect may begin', 'result written'])
    await page
      .getByRole('listitem')
      .filter({ hasText: mark })
      .getByText(/event \d+/)
      .waitFor()
  const steps = page.getByRole('region', { name: 'Path' }).getByRole('listitem')
  const path = async () =>
    (await steps.allTextContents()).map((step) => /pending|running|waiting|completed/.exec(step)?.[0])
  await expect.poll(path).toEqual(['pending', 'running', 'waiting', 'running', 'completed'])
  await page.getByText('"consequence_label": "SUCCESS"').waitFor()
})

test('console: a guarded move says why it was allowed, in the log, in replay, on its machine and beside its contract', async () => {
  const { over, execution_id } = await twoSessions()
  const { json } = await world.server().ask(`/api/sessions/${over.session_id}/runes?limit=1000`)
  const started = json.items.find(({ kind }: { kind: string }) => kind === 'turn.started')
  const [{ guard, because }] = started.guards
  const page = await world.open(`/s/${over.session_id}?tab=raw&at=${started.event_id}`)
  const why = (within: ReturnType<Page['locator']>) =>
    within.locator('.guards').filter({ hasText: 'why was this allowed?' }).getByText(`${guard} holds: ${because}`)
  await why(page.getByRole('complementary', { name: `Event ${started.event_id}` })).waitFor()
  await page.goto(`${world.server().url}/s/${over.session_id}/replay?at=${started.event_id}`)
  await why(page.getByRole('complementary', { name: 'This event' })).waitFor()
  await page.goto(`${world.server().url}/s/${over.session_id}?tab=machines&subject=${started.subject_id}`)
  await why(page.getByRole('region', { name: `turn ${started.subject_id}` })).waitFor()
  await page.goto(`${world.server().url}/c/${execution_id}`)
  await page.locator('.guards').getByText('mode_is_interactive holds: ').first().waitFor()
})

test('console pages: the declaration enables the buttons; disabled ones say why', async () => {
  const { session_id } = await world.submit('poet', 'Write')
  const page = await world.open(`/s/${session_id}`)
  await page.getByText('The run succeeded.').waitFor()
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const disabled = (name: string) => button(name).and(page.locator(':disabled'))
  await disabled('Resume').waitFor()
  await disabled('Cancel run').waitFor()
  await button('Pause').click()
  await page.getByText('The session is paused: paused by request').waitFor()
  await disabled('Pause').and(page.locator('[title*="accepts resume_requested"]')).waitFor()
  await button('Resume').click()
  await page.getByText('The session goes on.').waitFor()
  await button('Close').click()
  await page.getByText('seals its log').waitFor()
  await button('Close').click()
  await page.getByText('The session is closed; its log is sealed.').waitFor()
  await page.getByText('it takes no more messages').waitFor()
})

test('console session: what its budget suspended goes on with a larger budget, what errors suspended with a reset', async () => {
  const asked = { agent: 'support', input: 'Refund order 7', session_budget: { tool_calls: 1 } }
  const { session_id } = (await world.server().ask('/api/runs', asked)).json
  const page = await world.open(`/s/${session_id}`)
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  await button('Raise the budget').click()
  await page.getByText('Limits count from the beginning of the session.').waitFor()
  await page.getByRole('spinbutton', { name: 'tool calls' }).fill('5')
  await button('Raise the budget').click()
  await page.getByText('The session is no longer suspended').waitFor()
  await button('Resume').and(page.locator(':disabled')).waitFor()

  const broken = await world.submit('patient', 'Go')
  await page.goto(`${world.server().url}/s/${broken.session_id}`)
  // The model is repaired only once its errors have suspended the session: else a retry succeeds.
  await button('Reset').waitFor()
  writeFileSync(`${world.folder}/repaired`, '')
  await button('Reset').click()
  await page.getByText('I am well again.').first().waitFor()
})

test('console pages: the first page weighs at most 300 kB, compressed', async () => {
  const folder = await buildConsole()
  const index = readFileSync(`${folder}/index.html`, 'utf8')
  const files = [...index.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => `${folder}${path}`)
  expect(files.length).toBeGreaterThanOrEqual(2)
  const weight = files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, gzipSync(index).length)
  expect(weight).toBeLessThanOrEqual(300_000)
  expect(index).not.toMatch(/<style|<script(?![^>]*src)/)
})
