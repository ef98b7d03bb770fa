import { existsSync, globSync, mkdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import { build } from 'vite'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** A real browser. Tests install nothing: without a browser, `scripts/test-needs.ts` leaves out what needs one. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = installed()
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout: 60_000 })
}

function installed(): string {
  const found = [process.env.CHROMIUM ?? '', ...places].find((place) => place !== '' && existsSync(place))
  if (found === undefined) throw new Error('There is no Chromium: install one, or name it in CHROMIUM.')
  return found
}

/** The console as its sources are now, built unless it already is. */
export async function buildConsole(): Promise<string> {
  const folder = `${repository}/dist/console`
  const sources = globSync(
    ['console/**/*', 'src/{kernel,faults,machines,runes,observation,coordinator,wire}/**/*.ts'],
    {
      cwd: repository,
    },
  )
  const newest = Math.max(...sources.map((file) => statSync(`${repository}/${file}`).mtimeMs))
  const index = `${folder}/index.html`
  if (!existsSync(index) || statSync(index).mtimeMs < newest)
    await build({ configFile: `${repository}/console/vite.config.ts`, logLevel: 'error' })
  return folder
}

/** By how many pixels the page is wider than the screen, once it has taken its place there. */
export async function widthTooMuch(page: Page): Promise<number> {
  return (await page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number
}

/** Pictures for people to look at; nothing depends on them. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = `${repository}/.scratch/console`
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}
