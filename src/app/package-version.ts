import { readFileSync } from 'node:fs'

/** The version of this package. The path is the same from `src/app` and from `dist/app`; a bundle has no such file. */
export function packageVersion(): string {
  try {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
    const { name, version } = JSON.parse(text) as { name: string; version: string }
    return name === 'statewright' ? version : 'bundled'
  } catch {
    return 'bundled'
  }
}
