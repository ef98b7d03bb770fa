import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { buildConsole, openBrowser } from './browser.ts'
import { type ConsoleServer, ownerToken, startConsole } from './console-process.ts'
import { scratchFolder } from './scratch-folder.ts'

/** One server and one browser for a file of tests; each test opens pages of its own. */
export function consoleWorld(cast: 'agents' | 'goal' = 'agents') {
  const folder = scratchFolder('console').fresh()
  let browser: Browser
  let server: ConsoleServer
  beforeAll(async () => {
    await buildConsole()
    server = await startConsole(folder, cast)
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  /** A tab that fails its test when a script breaks, or when the page asks anyone but its own server for anything. */
  async function open(path: string, options: BrowserContextOptions & { token?: string } = {}): Promise<Page> {
    const { token = ownerToken, ...rest } = options
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...rest })
    context.setDefaultTimeout(30_000)
    const page = await context.newPage()
    const troubles: string[] = []
    page.on('pageerror', (error) => troubles.push(`${error.message}\n${error.stack}`))
    page.on('request', (request) => {
      if (!request.url().startsWith(server.url) && !request.url().startsWith('blob:'))
        troubles.push(`It asked for ${request.url()}.`)
    })
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) troubles.push(message.text())
    })
    onTestFinished(async () => {
      await context.close()
      if (troubles.length > 0) throw new Error(`The page had trouble:\n${troubles.join('\n')}`)
    })
    await page.goto(`${server.url}${path}#token=${token}`)
    return page
  }

  /** Starts a run as a person would, and shows its session. */
  async function begin(page: Page, agent: string, input: string): Promise<string> {
    await page.getByRole('button', { name: 'New session' }).click()
    await page.getByLabel('Agent').selectOption(agent)
    await page.getByLabel('What should it do?').fill(input)
    await page.getByRole('button', { name: 'Start' }).click()
    await page.waitForURL(/\/s\/ses_/)
    return new URL(page.url()).pathname.slice('/s/'.length)
  }

  /** The same, by a program. */
  async function submit(agent: string, input: string): Promise<{ session_id: string; run_id: string }> {
    return (await server.ask('/api/runs', { agent, input })).json
  }

  return { folder, server: () => server, browser: () => browser, open, begin, submit }
}
