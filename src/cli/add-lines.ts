import { type FileHandle, open } from 'node:fs/promises'
import { faults, fileRefused } from '../faults/catalogue.ts'

/** Adds lines to a file: all of them, or nothing. A device or a pipe takes them as they come. */
export async function addLines(path: string, lines: readonly string[]): Promise<void> {
  const text = lines.map((line) => `${line}\n`).join('')
  try {
    await withFile(path, 'a', async (file) => {
      const before = await file.stat()
      if (!before.isFile()) return file.appendFile(text)
      if (before.size > 0) await refuseTorn(path, before.size)
      await appendWhole(file, text, before.size)
    })
  } catch (error) {
    throw fileRefused(path, error)
  }
}

async function appendWhole(file: FileHandle, text: string, size: number): Promise<void> {
  try {
    await file.appendFile(text)
    await file.sync()
  } catch (error) {
    // Where it cannot be cut either, the next command finds the torn line.
    await file.truncate(size).catch(() => {})
    throw error
  }
}

/** What is added after half a line is part of that line, and lost with it. */
async function refuseTorn(path: string, size: number): Promise<void> {
  const last = await withFile(path, 'r', (file) => file.read({ buffer: Buffer.alloc(1), position: size - 1 }))
  if (last.buffer.toString('latin1') === '\n') return
  const problem =
    'its last line has no line end, so it may be half a line. Delete that line, or end it if it is whole; or name another file.'
  throw faults.file_unusable({ file: path, problem })
}

async function withFile<T>(path: string, flags: 'a' | 'r', work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, flags)
  try {
    return await work(file)
  } finally {
    await file.close()
  }
}
