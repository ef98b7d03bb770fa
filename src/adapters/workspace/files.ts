import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import * as z from 'zod'
import { fileProblem } from '../../faults/catalogue.ts'
import type { Json } from '../../kernel/json.ts'
import { tool } from '../../runtime/tools/define-tool.ts'
import type { Tool, ToolContext } from '../../runtime/tools/tool.ts'
import { isOwnFile } from './own-files.ts'
import type { Root } from './root.ts'

const path = z.string().min(1).describe('Relative to the workspace.')
const most_bytes = 4_000_000
const most_found = 200

/** Tools for the files of one folder, and of nothing outside it. */
export function fileTools(root: Root): Tool[] {
  return [
    tool({
      name: 'fs.read',
      description: 'Reads a text file of the workspace.',
      input: z.object({ path }),
      readOnly: true,
      run: ({ path }) => reaching(path, () => read(root, path)),
    }),
    tool({
      name: 'fs.list',
      description: 'Lists a folder of the workspace; "." is the workspace itself.',
      input: z.object({ path }),
      readOnly: true,
      run: ({ path }) => reaching(path, async () => (await entriesOf(await root.find(path))).map(named)),
    }),
    tool({
      name: 'fs.search',
      description: 'Finds the lines of files of the workspace that contain a text.',
      input: z.object({ text: z.string().min(1), path: path.default('.') }),
      readOnly: true,
      run: ({ text, path }, context) => reaching(path, () => search(root, text, path, context)),
    }),
    tool({
      name: 'fs.write',
      description: 'Writes a text file of the workspace, and the folders it lies in.',
      input: z.object({ path, content: z.string() }),
      idempotent: true,
      run: ({ path, content }) => reaching(path, () => write(root, path, content)),
    }),
    tool({
      name: 'fs.edit',
      description: 'Replaces a passage of a text file of the workspace. The passage must occur exactly once.',
      input: z.object({ path, old: z.string().min(1), new: z.string() }),
      run: ({ path, old, new: next }) =>
        reaching(path, async () => {
          const text = await read(root, path)
          const parts = text.split(old)
          if (parts.length !== 2)
            throw new Error(`The passage occurs ${parts.length - 1} times in ${path}; it must occur once.`)
          return write(root, path, parts.join(next))
        }),
    }),
  ]
}

async function read(root: Root, path: string): Promise<string> {
  const file = await root.open(path, 'read')
  try {
    const { size } = await file.stat()
    if (size > most_bytes) throw new Error(`${path} has ${size} bytes; at most ${most_bytes} are read.`)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

async function write(root: Root, path: string, content: string): Promise<Json> {
  const file = await root.open(path, 'write')
  try {
    await file.truncate(0)
    await file.writeFile(content)
    return { path, bytes: Buffer.byteLength(content) }
  } finally {
    await file.close()
  }
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !isOwnFile(join(folder, name)))
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

const named = (entry: Dirent) => (entry.isDirectory() ? `${entry.name}/` : entry.name)

/** Links are not followed. Below the named folder, what cannot be read is skipped. */
async function search(root: Root, text: string, path: string, { signal, redact }: ToolContext): Promise<Json> {
  const found: { path: string; line: number; text: string }[] = []
  const start = await root.find(path)
  const folders = [start]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await entriesOf(folder).catch((error) => {
      if (folder === start) throw error
      return []
    })
    for (const entry of entries) {
      signal.throwIfAborted()
      const here = relative(root.path, join(folder, entry.name))
      const inner = entry.isDirectory() ? await root.find(here).catch(() => undefined) : undefined
      if (inner !== undefined) folders.push(inner)
      if (!entry.isFile()) continue
      const content = await read(root, here).catch(() => '')
      for (const [i, line] of content.split('\n').entries())
        if (line.includes(text))
          found.push({ path: here, line: i + 1, text: (await redact(line)).slice(0, 300).toWellFormed() })
      if (found.length >= most_found) return found.slice(0, most_found)
    }
  }
  return found
}

/** Works on a path that a model named. Errors name that path, never a real path of this machine. */
async function reaching<T>(given: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const refused = error as NodeJS.ErrnoException
    if (refused.code === undefined || refused.syscall === undefined) throw error
    throw new Error(`${given} cannot be used: ${fileProblem(refused)}.`)
  }
}
