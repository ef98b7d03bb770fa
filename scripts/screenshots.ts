/** Takes the two pictures of the console that the README shows, of a real server with the scripted model. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { parse } from 'yaml'
import { scanProject } from '../src/adapters/facts/project-folder.ts'
import { hostPorts } from '../src/adapters/host/ports.ts'
import { buildConsole, openBrowser } from '../test/support/browser.ts'
import { ownerToken, startConsole } from '../test/support/console-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'statewright-screenshots-'))
await buildConsole()
const server = await startConsole(folder)
const browser = await openBrowser()

async function open(path: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } })
  await page.goto(`${server.url}${path}#token=${ownerToken}`)
  return page
}

try {
  const { json: run } = await server.ask('/api/runs', { agent: 'support', input: 'Please refund order 42' })
  const session = await open(`/s/${run.session_id}?tab=timeline`)
  await session.getByRole('button', { name: 'Approve once' }).and(session.locator(':enabled')).waitFor()
  await session.screenshot({ path: 'docs/console-session.png' })

  const intent = parse(readFileSync('examples/plans/ask-first/intent.yaml', 'utf8'))
  const memory = parse(readFileSync('examples/plans/memory.yaml', 'utf8'))
  const facts = await scanProject('examples/plans/shop', 'shop', hostPorts.sha256)
  const { json: asked } = await server.ask('/api/plans', { intent, facts, memory })
  const choices = { window: 'night', no_way_back: 'review' }
  await server.ask(`/api/plans/${asked.coordination_id}/answer`, { choices })
  const plan = await open(`/p/${asked.coordination_id}`)
  await plan.getByText('The plan is frozen').waitFor()
  await plan.getByRole('region', { name: 'The final graph' }).waitFor()
  await plan.screenshot({ path: 'docs/console-plan.png' })
  console.log('docs/console-session.png and docs/console-plan.png are new')
} finally {
  await browser.close()
  await server.stop()
  rmSync(folder, { recursive: true })
}
