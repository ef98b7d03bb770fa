import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Page } from './page.ts'

/** The pages whose file under `root` is missing or does not say what the sources say. */
export function stalePages(root: string, pages: readonly Page[]): readonly string[] {
  return pages
    .filter(({ path, render }) => {
      const file = join(root, path)
      return !existsSync(file) || readFileSync(file, 'utf8') !== render()
    })
    .map(({ path }) => path)
}

export function writePages(root: string, pages: readonly Page[]): void {
  for (const { path, render } of pages) {
    const file = join(root, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, render())
  }
}
