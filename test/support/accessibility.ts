import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

interface Violation {
  readonly id: string
  readonly impact: string
  readonly help: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** The serious and critical findings of axe on a page, in words. Other colours can break only rules that depend on colours. */
export async function seriousFaults(page: Page, onlyColours: boolean): Promise<readonly string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.addScriptTag({ path: axe })
  const rules = onlyColours ? { runOnly: ['color-contrast', 'link-in-text-block'] } : {}
  const options = JSON.stringify({ resultTypes: ['violations'], ...rules })
  const { violations } = (await page.evaluate(`axe.run(document, ${options})`)) as {
    violations: readonly Violation[]
  }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => `${id}: ${help}\n${nodes.map((n) => `${n.html} ${n.failureSummary}`).join('\n')}`)
}

/** In light and in dark; the page is left in light. */
export async function seriousInBoth(page: Page): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme: 'light' })
  const light = await seriousFaults(page, false)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await seriousFaults(page, true)
  await page.emulateMedia({ colorScheme: 'light' })
  return [...light, ...dark]
}
