import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** Runs the goal in a process of its own, kills that with kill -9 in the middle, and lets another one go on. */
const folder = mkdtempSync(join(tmpdir(), 'statewright-goal-'))

async function live(killWhen?: RegExp): Promise<number | NodeJS.Signals | null> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'work.ts'), folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const over = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.on('exit', (code, signal) => resolve(signal ?? code))
  })
  for await (const line of createInterface({ input: child.stdout })) {
    console.log(line)
    if (killWhen?.test(line)) child.kill('SIGKILL')
  }
  return over
}

try {
  console.log(`— killed: ${await live(/refund:running/)}`)
  console.log(`— ended: ${await live()}`)
} finally {
  rmSync(folder, { recursive: true })
}
