import { spawnSync } from 'node:child_process'

/** Runs a program of the benchmarks to its end and returns the JSON object that it prints on its last line. */
export function measuredBy<T>(script: string, input: object): T {
  const { stdout, stderr, status, signal } = spawnSync(
    process.execPath,
    ['--no-warnings', script, JSON.stringify(input)],
    { encoding: 'utf8' },
  )
  const last = stdout.trimEnd().split('\n').at(-1) ?? ''
  if (!last.startsWith('{')) throw new Error(`${script} ended with ${signal ?? status}.\n${stderr}`)
  return JSON.parse(last)
}
