import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Verdict } from './random-bundles.ts'

const program = fileURLToPath(new URL('../../docs/verify/verify.py', import.meta.url))

/** Runs the Python verifier. Its exit and its lines. */
export async function runPython(args: readonly string[]) {
  const options = { maxBuffer: 2 ** 26 }
  const { code, stdout, stderr } = await promisify(execFile)('python3', ['-I', program, ...args], options).then(
    (done) => ({ code: 0, ...done }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
  return { exit: code, out: stdout, err: stderr }
}

/** The verdicts of the Python verifier about files, in their order. It starts once for many. */
export async function pythonVerdicts(
  folder: string,
  files: readonly (string | Uint8Array)[],
  trusted: readonly string[] = [],
): Promise<readonly Verdict[]> {
  const paths = files.map((bytes, i) => {
    const path = join(folder, `${i}.bundle.ndjson`)
    writeFileSync(path, bytes)
    return path
  })
  const { out, err } = await runPython([...trusted.flatMap((key) => ['--key', key]), ...paths])
  if (err !== '') throw new Error(err)
  return out
    .trimEnd()
    .split('\n')
    .map((said) => {
      const [, bad] = /^event (\d+): /.exec(said) ?? []
      return { bad: bad === undefined ? undefined : Number(bad), said }
    })
}
