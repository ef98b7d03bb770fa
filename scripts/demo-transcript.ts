/** Plays the demo for real and puts what it printed into the README. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const launcher = fileURLToPath(new URL('../bin/statewright.js', import.meta.url))
const begin = '<!-- The transcript is written by `npm run transcript`. -->\n\n```text\n'
const end = '\n```\n\n<!-- End of the transcript. -->'

export interface Played {
  readonly exit: number | null
  readonly printed: string
  readonly complained: string
  readonly ms: number
}

/** The demo in a process of its own, in a folder that goes afterwards. */
export function playForReal(): Played {
  const folder = mkdtempSync(join(tmpdir(), 'statewright-transcript-'))
  try {
    const started = performance.now()
    const { status, stdout, stderr } = spawnSync(process.execPath, [launcher, 'demo', '--folder', '.'], {
      cwd: folder,
      env: { ...process.env, npm_command: 'run-script' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    })
    return { exit: status, printed: stdout.trimEnd(), complained: stderr, ms: performance.now() - started }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export function transcriptIn(readme: string): string {
  const [from, to] = placeIn(readme)
  return readme.slice(from, to)
}

function placeIn(readme: string): readonly [from: number, to: number] {
  const from = readme.indexOf(begin) + begin.length
  const to = readme.indexOf(end, from)
  if (from < begin.length || to < 0) throw new Error('The README has no place for a transcript.')
  return [from, to]
}

/** The lines without what differs from one play to the next: names, hashes, times, process ids. */
export function stableLines(text: string): readonly string[] {
  return text.split('\n').map((line) =>
    line
      .replaceAll(/\b(ses|run|int|exe)_[0-9a-f]+/g, '$1_…')
      .replaceAll(/\b[0-9a-f]{64}\b/g, '#')
      .replaceAll(/\bkey [0-9a-f]{16}…/g, 'key #')
      .replaceAll(/"receipt":"[0-9a-f]{8}"/g, '"receipt":"#"')
      .replaceAll(/\d\d:\d\d:\d\d(\.\d{3})?/g, 'TIME')
      .replaceAll(/\d{4}-\d\d-\d\d/g, 'DAY')
      .replaceAll(/\b\d+ m?s\b/g, 'SPAN')
      .replaceAll(/\b(Process|event|is) \d+\b/g, '$1 N')
      .replaceAll(/\b\d+ events\b/g, 'N events')
      .replaceAll(/statewright-demo-\w{6}/g, 'FOLDER')
      .replaceAll(/ [█░· ]{30,} /g, ' BAR ')
      .replaceAll(/ {2,}/g, '  ')
      .trimEnd(),
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = fileURLToPath(new URL('../README.md', import.meta.url))
  const readme = readFileSync(path, 'utf8')
  const { exit, printed, complained, ms } = playForReal()
  if (exit !== 0) throw new Error(`The demo ended with ${exit}: ${complained}`)
  const [from, to] = placeIn(readme)
  writeFileSync(path, `${readme.slice(0, from)}${printed}${readme.slice(to)}`)
  console.log(`transcript: ${printed.split('\n').length} lines, ${Math.round(ms)} ms`)
}
