import { mkdirSync } from 'node:fs'
import { faults } from '../../faults/catalogue.ts'
import type { Tool } from '../../runtime/tools/tool.ts'
import { type FetchOptions, fetchTool } from './fetch.ts'
import { fileTools } from './files.ts'
import { ownerOf } from './owner.ts'
import { openRoot, type Root } from './root.ts'
import { type ShellOptions, shellTool } from './shell.ts'

export interface WorkspaceOptions {
  /** The folder that the tools work in and cannot leave, best one of its own; it is made if it is missing. */
  readonly root: string
  /** Off unless it is given. */
  readonly shell?: ShellOptions
  /** Off unless it is given. */
  readonly fetch?: FetchOptions
}

/** Tools for a working agent: files, and if they are asked for, commands and pages. */
export function workspaceTools({ root, shell, fetch }: WorkspaceOptions): Tool[] {
  const opened = rootAt(root)
  return [
    ...fileTools(opened),
    ...(shell === undefined ? [] : [shellTool(opened, shell)]),
    ...(fetch === undefined ? [] : [fetchTool(fetch)]),
  ]
}

function rootAt(folder: string): Root {
  try {
    mkdirSync(folder, { recursive: true })
    return openRoot(folder, ownerOf(folder))
  } catch (error) {
    const problem = `Its root ${JSON.stringify(folder)} cannot be used: ${(error as Error).message}`
    throw faults.bad_definition({ what: 'tool', name: 'fs', problem })
  }
}
