/**
 * How quick the console is where it is hard: a session of 50,000 events, and a
 * list of 10,000 sessions next to the same list rendered plainly. A real server,
 * a real browser, both on this machine.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { z } from 'zod'
import { serveConfig } from '../src/app/serve.ts'
import { createStatewright } from '../src/app/statewright.ts'
import { agent } from '../src/runtime/define-agent.ts'
import { call, say, scriptedModel, together } from '../src/runtime/scripted-model.ts'
import { tool } from '../src/runtime/tools/define-tool.ts'
import { buildConsole, openBrowser } from '../test/support/browser.ts'

const events = Number(process.env.EVENTS ?? 50_000)
const sessions = Number(process.env.SESSIONS ?? 10_000)
const token = 'token-for-the-bench-of-the-console'
const folder = mkdtempSync(join(tmpdir(), 'statewright-console-'))
const store = `sqlite:${folder}/bench.db`

const look = tool({ name: 'look', input: z.object({ at: z.int() }), readOnly: true, run: ({ at }) => ({ at }) })
/** Five calls a round write 37 runes. */
const rounds = Math.ceil(events / 37)
const agents = {
  busy: agent({
    role: 'busy',
    tools: [look],
    maxRounds: rounds + 10,
    model: scriptedModel((_, answered) =>
      answered < rounds
        ? together(say(`Round ${answered}. `), ...[0, 1, 2, 3, 4].map((i) => call('look', { at: answered * 5 + i })))
        : say('Done.'),
    ),
  }),
  brief: agent({ role: 'brief', model: scriptedModel(() => say('Done.')) }),
}

async function fill(): Promise<string> {
  const sw = await createStatewright({ store, agents, warn: () => {}, maxConcurrentRuns: 64 })
  const long = await sw.runs.start({ agent: 'busy', input: 'Look at everything' })
  await long.result()
  for (let i = 0; i < sessions; i += 200)
    await Promise.all(
      Array.from({ length: Math.min(200, sessions - i) }, async (_, j) => {
        const run = await sw.runs.start({ agent: 'brief', input: `Session number ${i + j}` })
        await run.result()
      }),
    )
  await sw.close()
  return long.sessionId
}

/** Milliseconds from the beginning of the navigation until there is something to see. */
async function untilSeen(page: Page, url: string, selector: string): Promise<number> {
  await page.goto('about:blank')
  await page.goto(url)
  const seen = await page.waitForFunction(
    `document.querySelector(${JSON.stringify(selector)}) && performance.now()`,
    undefined,
    {
      polling: 'raf',
    },
  )
  return Math.round((await seen.jsonValue()) as number)
}

const best = async (times: number, measure: () => Promise<number>) => {
  const figures: number[] = []
  for (let i = 0; i < times; i++) figures.push(await measure())
  return { median: figures.toSorted((a, b) => a - b)[Math.floor(times / 2)] as number, figures }
}

/** Scrolls a box to its top and back, a page per frame, and says what the longest task of the page was. */
const scrollScript = `(async () => {
  const box = document.querySelector('.raw')
  // Data that was loaded before is removed first.
  for (let i = 0; i < 3; i++) await new Promise((resolve) => requestIdleCallback(resolve))
  const tasks = []
  const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map((entry) => entry.duration)))
  observer.observe({ type: 'longtask' })
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
  const began = performance.now()
  let frames = 0
  let top = box.scrollTop
  const step = box.scrollHeight / 300
  for (const direction of [-1, 1])
    for (let i = 0; i < 300; i++) {
      box.scrollTop = top += direction * step
      await frame()
      frames++
    }
  const ms = performance.now() - began
  await frame()
  observer.disconnect()
  return { longest: Math.round(Math.max(0, ...tasks)), tasks: tasks.map(Math.round), fps: Math.round(frames / (ms / 1000)) }
})()`

/** The same list without the console: every row loaded, every row in the document. */
const plainScript = `(async () => {
  const began = performance.now()
  const list = document.createElement('ul')
  let cursor = null
  do {
    const query = new URLSearchParams({ limit: 200, ...(cursor && { cursor }) })
    const answer = await fetch('/api/sessions?' + query, { headers: { authorization: 'Bearer ${token}' } })
    const page = await answer.json()
    for (const row of page.items) {
      const item = document.createElement('li')
      for (const text of [row.status, row.title, row.current_line, row.agent, row.session_id]) {
        const cell = document.createElement('span')
        cell.textContent = text
        item.append(cell)
      }
      list.append(item)
    }
    cursor = page.next_cursor
  } while (cursor)
  document.body.replaceChildren(list)
  list.getBoundingClientRect()
  await new Promise((resolve) => requestAnimationFrame(resolve))
  return Math.round(performance.now() - began)
})()`

await buildConsole()
const session_id = await fill()
const serving = await serveConfig(
  { store, agents, warn: () => {}, server: { tokens: [{ name: 'bench', token, scope: 'admin' }] } },
  { port: 0, quiet: true },
  { onRune: () => {}, warn: () => {} },
)
const browser = await openBrowser()
try {
  const page = await browser.newPage({ bypassCSP: true, viewport: { width: 1440, height: 900 } })
  await page.goto(`${serving.url}/#token=${token}`)
  const session = `${serving.url}/s/${session_id}`
  const cold = await untilSeen(page, session, '.entry')
  const opened = await best(5, () => untilSeen(page, session, '.entry'))
  const head = await page.locator('.head .number').textContent()
  console.log(
    `session of ${head}: first look ${cold} ms (the server folds it), then ${opened.median} ms ${JSON.stringify(opened.figures)}; at most 1500`,
  )

  await page.getByRole('tab', { name: 'Raw' }).click()
  const began = performance.now()
  await page.getByRole('button', { name: 'Load from the beginning' }).click()
  await page.getByRole('button', { name: /Load/ }).waitFor({ state: 'detached' })
  console.log(`all of it loaded in ${Math.round(performance.now() - began)} ms`)
  await page.getByLabel('follow').uncheck()
  const { longest, tasks, fps } = (await page.evaluate(scrollScript)) as {
    longest: number
    tasks: readonly number[]
    fps: number
  }
  console.log(
    `scrolling through all of it: longest task ${longest} ms (over 50 ms: ${tasks.join(' ') || 'none'}), ${fps} frames/s; at most 100 ms`,
  )

  const list = await best(5, () => untilSeen(page, `${serving.url}/`, '.session-row'))
  const plain = (await page.evaluate(plainScript)) as number
  console.log(`${sessions} sessions: first rows ${list.median} ms ${JSON.stringify(list.figures)}; at most 500`)
  console.log(`the same list rendered plainly: ${plain} ms until it is there`)
} finally {
  await browser.close()
  await serving.stop()
  rmSync(folder, { recursive: true })
}
