import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { runCli } from './run-cli.ts'

/** Runs commands on a store in a process of its own, and prints what each of them did and which files changed. */
const [folder = '', ...lines] = process.argv.slice(2)

const files = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .flatMap((entry) => {
      // The index of a write-ahead log holds nothing; SQLite makes it again while it reads.
      if (!entry.isFile() || entry.name.endsWith('-shm')) return []
      const file = join(entry.parentPath, entry.name)
      const { size, mtimeMs } = statSync(file)
      return [`${file} ${size} ${mtimeMs}`]
    })
    .sort()

const before = files()
const ran = []
for (const line of lines) {
  const args = line.split(' ')
  ran.push({ command: args[0], ...(await runCli([...args, '--store', `sqlite:${join(folder, 'statewright.db')}`])) })
}
const after = files()
const changed = [...after.filter((file) => !before.includes(file)), ...before.filter((file) => !after.includes(file))]
process.stdout.write(JSON.stringify({ ran, changed }))
