import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { factsOf, type SourceFile } from '../../coordinator/facts.ts'
import type { FactPack } from '../../coordinator/schemas/context.ts'
import { faults, fileRefused } from '../../faults/catalogue.ts'
import type { Sha256 } from '../../kernel/digest.ts'

/** Folders with the work of others, or with files that can be made again. */
const skipped = new Set('.git .hg .svn .venv build coverage dist node_modules target vendor'.split(' '))
/** A larger file is data; its path counts and its text does not. */
const largest = 1_000_000

/** Scans a project on disk. Links are not followed, so a scan never leaves the folder. */
export async function scanProject(folder: string, project_id: string, sha256: Sha256): Promise<FactPack> {
  const files = await readFiles(folder, '').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw faults.not_found({ what: 'folder', id: folder })
    throw fileRefused(folder, error)
  })
  return factsOf(project_id, files, sha256)
}

async function readFiles(root: string, under: string): Promise<SourceFile[]> {
  const files: SourceFile[] = []
  const entries = await readdir(join(root, under), { withFileTypes: true })
  for (const entry of entries) {
    const path = under === '' ? entry.name : `${under}/${entry.name}`
    if (entry.isDirectory() && !skipped.has(entry.name)) files.push(...(await readFiles(root, path)))
    if (entry.isFile()) files.push({ path, text: await readText(join(root, path)) })
  }
  return files
}

async function readText(path: string): Promise<string> {
  const { size } = await stat(path)
  if (size > largest) return ''
  const text = await readFile(path, 'utf8')
  return text.includes('\0') ? '' : text
}
