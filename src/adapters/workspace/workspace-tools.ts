import type { LookupFunction } from 'node:net'
import * as z from 'zod'
import { faults } from '../../faults/catalogue.ts'
import { Fault } from '../../faults/fault.ts'
import { makeFolder } from '../../runelog/files.ts'
import { withoutUndefined } from '../../runtime/options.ts'
import { fieldProblems, plainObject, problemSentence } from '../../runtime/shape-problems.ts'
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

const limits = { timeoutMs: z.int().min(1).optional(), maxOutputBytes: z.int().min(256).optional() }
const functionOf = <F>() => z.custom<F>((given) => typeof given === 'function', 'Expected a function.').optional()
const hostName = z
  .string()
  .regex(/^(\*\.)?[^\s/:*@[\]]+$|^\[[0-9a-f:.]+\]$/i, 'Expected a host name, such as "example.com" or "*.example.com".')

const workspaceOptions = plainObject({
  root: z.string().max(4_096),
  shell: plainObject({ network: z.boolean().optional(), ...limits }).optional(),
  fetch: plainObject({
    allow: z.array(hostName),
    ...limits,
    maxRedirects: z.int().min(0).optional(),
    lookup: functionOf<LookupFunction>(),
    isReachable: functionOf<(address: string) => boolean>(),
  }).optional(),
})

/** Tools for a working agent: files, and if they are asked for, commands and pages. */
export function workspaceTools(options: WorkspaceOptions): Tool[] {
  const read = workspaceOptions.safeParse(options)
  if (!read.success) throw refused('workspaceTools', `${problemSentence(fieldProblems(read.error))}.`)
  const { root, shell, fetch } = read.data
  const opened = rootAt(root)
  return [
    ...fileTools(opened),
    ...(shell === undefined ? [] : [shellTool(opened, withoutUndefined(shell))]),
    ...(fetch === undefined ? [] : [fetchTool(withoutUndefined(fetch))]),
  ]
}

const roots: Root[] = []

/** The workspace that a real path lies in, if any. */
export const workspaceOf = (real: string): string | undefined => roots.find((root) => root.contains(real))?.path

function rootAt(folder: string): Root {
  try {
    makeFolder(folder)
    const root = openRoot(folder, ownerOf(folder))
    roots.push(root)
    return root
  } catch (error) {
    const { message } = error as Error
    const problem = error instanceof Fault ? message : `Its root ${JSON.stringify(folder)} cannot be used: ${message}`
    throw refused('fs', problem)
  }
}

const refused = (name: string, problem: string) => faults.bad_definition({ what: 'tool', name, problem })
