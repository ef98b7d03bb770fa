import { isTerminal } from '../kernel/machine.ts'
import { runMachine } from '../machines/run.ts'
import type { Rune } from '../runes/rune.ts'

/** A run and the runs of the tasks that it handed on, as their runes tell. */
export interface Family {
  tell(rune: Rune): void
  has(run_id: string | undefined): boolean
  /** Nothing is under way any more: each of them waits for a person, or for another one of them. */
  onlyWaits(): boolean
}

export function createFamily(root: string): Family {
  /** Those that are not over: where each stands, and the call that handed it on. */
  const open = new Map<string, { status: string; readonly parent_call_id: string | null }>()
  const members = new Set([root])
  /** Calls whose contract is running, by run. */
  const atWork = new Map<string, Set<string>>()

  function onlyWaits(): boolean {
    const handedOn = new Set([...open.values()].map(({ parent_call_id }) => parent_call_id))
    const waits = ([run_id, { status }]: [string, { readonly status: string }]) => {
      const calls = [...(atWork.get(run_id) ?? [])]
      const isHelped = status === 'running' && calls.length > 0 && calls.every((call_id) => handedOn.has(call_id))
      return status === 'waiting_user' || isHelped
    }
    return open.size > 0 && [...open].every(waits)
  }

  return {
    tell(rune) {
      const { run_id = '', call_id = '', kind, machine, to } = rune
      if (kind === 'run.submitted') {
        const { parent_call_id, parent_run_id } = rune.payload
        if (parent_run_id != null && members.has(parent_run_id)) members.add(run_id)
        if (members.has(run_id)) open.set(run_id, { status: 'queued', parent_call_id })
      }
      const run = open.get(run_id)
      if (run === undefined) return
      if (kind === 'run.moved' && to !== undefined) run.status = to
      if (isTerminal(runMachine, run.status)) open.delete(run_id)
      if (machine !== 'contract') return
      const calls = atWork.get(run_id) ?? new Set()
      if (to === 'running') calls.add(call_id)
      else calls.delete(call_id)
      atWork.set(run_id, calls)
    },
    has: (run_id) => run_id !== undefined && members.has(run_id),
    onlyWaits,
  }
}
