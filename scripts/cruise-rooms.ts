import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { cruise, type ICruiseResult } from 'dependency-cruiser'
import extractConfig from 'dependency-cruiser/config-utl/extract-depcruise-options'

export interface RoomReport {
  readonly modules: number
  /** Every broken rule, and every file that was not checked; nothing means the rooms are in order. */
  readonly problems: readonly string[]
}

const rules = fileURLToPath(new URL('../.dependency-cruiser.mjs', import.meta.url))

/** Checks every import under `root` against the rooms, and that every source file was really looked at. */
export async function cruiseRooms(root: string): Promise<RoomReport> {
  const files = globSync(['src/**/*.ts', 'console/**/*.{ts,tsx}'], { cwd: root })
  if (files.length === 0) return { modules: 0, problems: ['no modules: there is nothing to check here'] }

  const folders = [...new Set(files.map((file) => file.split('/')[0] as string))]
  const { output } = await cruise(folders, { ...(await extractConfig(rules)), baseDir: root })
  const { summary, modules } = output as ICruiseResult
  const seen = new Set(modules.map((module) => module.source))
  return {
    modules: files.filter((file) => seen.has(file)).length,
    problems: [
      ...summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`),
      ...files.filter((file) => !seen.has(file)).map((file) => `not cruised: ${file}`),
    ],
  }
}
