import { faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { makeFolder } from '../../runelog/files.ts'
import { refuseUnknown } from '../../runtime/shape-problems.ts'
import type { Tool } from '../../runtime/tools/tool.ts'
import { type FetchOptions, fetchTool } from './fetch.ts'
import { fileTools } from './files.ts'
import { openRoot, ownerOf, type Root } from './root.ts'
import { type ShellOptions, shellTool } from './shell.ts'

/** Options of `workspaceTools`. */
export interface WorkspaceOptions {
  /** The folder that the tools work in and cannot leave, best one of its own; it is made if it is missing. */
  readonly root: string
  /** Off unless it is given. */
  readonly shell?: ShellOptions
  /** Off unless it is given. */
  readonly fetch?: FetchOptions
}

/** Tools for a working agent: files, and if they are asked for, commands and pages. */
export function workspaceTools(options: WorkspaceOptions): Tool[] {
  const { root, shell, fetch }: WorkspaceOptions = Object(options)
  const limits = ['timeoutMs', 'maxOutputBytes']
  refuseUnknown({ what: 'tool', name: 'workspaceTools' }, options, ['root', 'shell', 'fetch'])
  refuseUnknown({ what: 'tool', name: 'shell' }, shell ?? {}, ['network', ...limits])
  const fetching = ['allow', ...limits, 'maxRedirects', 'lookup', 'isReachable']
  refuseUnknown({ what: 'tool', name: 'fetch' }, fetch ?? {}, fetching)
  const opened = rootAt(root)
  return [
    ...fileTools(opened),
    ...(shell === undefined ? [] : [shellTool(opened, shell)]),
    ...(fetch === undefined ? [] : [fetchTool(fetch)]),
  ]
}

const roots: Root[] = []

/** The workspace that a real path lies in, if any. */
export function workspaceOf(real: string): string | undefined {
  return roots.find((root) => root.contains(real))?.path
}

function rootAt(folder: string): Root {
  try {
    makeFolder(folder)
    const root = openRoot(folder, ownerOf(folder))
    roots.push(root)
    return root
  } catch (error) {
    const { message } = error as Error
    const problem = error instanceof Fault ? message : `Its root ${JSON.stringify(folder)} cannot be used: ${message}`
    throw faults.bad_definition({ what: 'tool', name: 'fs', problem })
  }
}
